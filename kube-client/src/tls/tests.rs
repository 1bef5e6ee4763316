use super::*;

/// A certificate, its key in some form, and what comes of the two.
fn outcome(certificate: &str, key: &str) -> Result<(), TlsError> {
    let identity = Identity::from_pem(certificate.as_bytes(), key.as_bytes())?;
    let config = TlsConfig { trust: Trust::Anything, identity: Some(identity), server_name: None };
    config.client_config().map(|_| ())
}

const P256: &str = include_str!("testdata/p256.crt");
const P256_SEC1: &str = include_str!("testdata/p256.sec1.pem");
const RSA: &str = include_str!("testdata/rsa.crt");

#[test]
fn every_usual_form_of_a_key_loads_past_whatever_is_before_it() {
    let pkcs8 = include_str!("testdata/p256.pkcs8.pem");
    let pkcs1 = include_str!("testdata/rsa.pkcs1.pem");
    assert!(P256_SEC1.starts_with("-----BEGIN EC PARAMETERS-----"));
    let rows = [
        ("SEC 1 behind parameters", P256, P256_SEC1.to_owned()),
        ("PKCS 8", P256, pkcs8.to_owned()),
        ("PKCS 1", RSA, pkcs1.to_owned()),
        ("behind text and a certificate", P256, format!("Subject: CN=p256\n\n{P256}\n{pkcs8}")),
        ("with CRLF", P256, pkcs8.replace('\n', "\r\n")),
    ];
    for (name, certificate, key) in rows {
        outcome(certificate, &key).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn a_key_that_cannot_be_used_is_told_apart() {
    let encrypted = "encrypted keys are unsupported";
    let rows = [
        ("encrypted PKCS 8", P256, include_str!("testdata/encrypted.pkcs8.pem"), encrypted),
        ("encrypted SEC 1", P256, include_str!("testdata/encrypted.sec1.pem"), encrypted),
        ("no key", P256, P256, "no private key in the PEM text"),
        ("no text", P256, "", "no private key in the PEM text"),
        ("cut off", P256, "-----BEGIN PRIVATE KEY-----\nAAAA\n", "the PEM text is broken"),
        ("no certificate", P256_SEC1, P256_SEC1, "no certificate in the PEM text"),
        ("the key of another certificate", RSA, P256_SEC1, "cannot be used with the certificate"),
        (
            "a curve that the provider lacks",
            include_str!("testdata/p521.crt"),
            include_str!("testdata/p521.sec1.pem"),
            "P-521 is not",
        ),
    ];
    for (name, certificate, key, expected) in rows {
        let text = outcome(certificate, key).unwrap_err().to_string();
        assert!(text.contains(expected), "{name}: {text}");
    }
}

#[test]
fn every_certificate_of_a_bundle_counts() {
    let rows = [
        (P256.to_owned(), Some(1)),
        (format!("{RSA}# text\n{P256_SEC1}{P256}"), Some(2)),
        (String::new(), None),
        ("-----BEGIN CERTIFICATE-----\n*\n-----END CERTIFICATE-----\n".to_owned(), None),
    ];
    for (bundle, expected) in rows {
        let found = match Trust::from_pem(bundle.as_bytes()) {
            Ok(Trust::Only(roots)) => Some(roots.len()),
            _ => None,
        };
        assert_eq!(found, expected, "{bundle}");
    }
}

#[test]
fn debug_shows_no_key_and_no_certificate() {
    let identity = Identity::from_pem(P256.as_bytes(), P256_SEC1.as_bytes()).unwrap();
    let trust = Trust::from_pem(RSA.as_bytes()).unwrap();
    let config = TlsConfig { trust, identity: Some(identity), server_name: None };
    assert_eq!(
        format!("{config:?}"),
        "TlsConfig { trust: Only(1 certificates), identity: Some(Identity(1 certificates, key)), server_name: None }"
    );
}
