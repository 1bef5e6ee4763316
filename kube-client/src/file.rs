//! Reads the files that a configuration names, up to a size that no such file has.
//!
//! A path in a kubeconfig may lead anywhere, to a device that never ends as well; what is read is kept in memory.

use std::{fs::File, io, path::Path};

/// Most bytes of one file: 16 MiB. A kubeconfig of a thousand clusters has a tenth of that, the CA bundle of a platform
/// a hundredth.
const MAX_FILE: usize = 16 << 20;

/// The bytes of a file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte more, which tells a file of exactly this size from a longer one.
    io::Read::read_to_end(&mut io::Read::take(File::open(path)?, MAX_FILE as u64 + 1), &mut bytes)?;
    if bytes.len() > MAX_FILE {
        let text = format!("it is larger than {MAX_FILE} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok(bytes)
}

/// The text of a file. The error does not repeat what is no text: it may be a key.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not a text in UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for (size, kind) in [(0, None), (MAX_FILE, None), (MAX_FILE + 1, Some(io::ErrorKind::FileTooLarge))] {
            std::fs::write(&path, vec![b'a'; size]).unwrap();
            match read(&path) {
                Ok(bytes) => assert_eq!((bytes.len(), kind), (size, None)),
                Err(error) => assert_eq!(Some(error.kind()), kind, "{error}"),
            }
        }
        std::fs::write(&path, b"s3cr\xff").unwrap();
        assert!(!format!("{:?}", read_text(&path).unwrap_err()).contains("s3cr"));
    }

    #[cfg(unix)]
    #[test]
    fn a_device_that_never_ends_is_an_error() {
        assert_eq!(read(Path::new("/dev/zero")).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
