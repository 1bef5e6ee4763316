//! What one input or order of the queue costs. The aim is more than 3 million a second.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use kube_core::ObjectKey;
use kube_runtime::queue::{Config, Input, Outcome, Output, Queue, Trigger};

const KEYS: u64 = 50_000;

fn keys() -> Vec<ObjectKey> {
    (0..KEYS).map(|n| ObjectKey::namespaced("shop", &format!("web-{n:05}-7d4b9c6f5-x2x4z"))).collect()
}

fn queue() -> (Queue<ObjectKey>, Instant) {
    #[expect(clippy::disallowed_methods, reason = "a zero for the benchmark's own time")]
    let now = Instant::now();
    let mut queue = Queue::new(Config::default(), 1);
    queue.handle(now, Input::Opened);
    (queue, now)
}

/// Starts and finishes keys until none is ready.
fn run_all(queue: &mut Queue<ObjectKey>, now: Instant, outcome: Outcome) {
    while let Some(Output::Start { key, .. }) = queue.poll(now) {
        queue.handle(now, Input::Finished { key, outcome });
    }
}

fn life_of_a_key(c: &mut Criterion) {
    let keys = keys();
    let mut group = c.benchmark_group("queue");

    group.throughput(Throughput::Elements(3 * KEYS));
    group.bench_function("trigger, start, finish", |b| {
        let (mut queue, now) = queue();
        b.iter(|| {
            for key in &keys {
                queue.handle(now, Input::Triggered { key: key.clone(), by: Trigger::Changed });
            }
            run_all(&mut queue, now, Outcome::AwaitChange);
        });
    });

    group.bench_function("one key at a time", |b| {
        let (mut queue, now) = queue();
        b.iter(|| {
            for key in &keys {
                queue.handle(now, Input::Triggered { key: key.clone(), by: Trigger::Changed });
                run_all(&mut queue, now, Outcome::AwaitChange);
            }
        });
    });

    group.throughput(Throughput::Elements(5 * KEYS));
    group.bench_function("trigger, start, requeue, wake", |b| {
        let (mut queue, mut now) = queue();
        b.iter(|| {
            for key in &keys {
                queue.handle(now, Input::Triggered { key: key.clone(), by: Trigger::Changed });
            }
            run_all(&mut queue, now, Outcome::RequeueAfter(Duration::from_mins(1)));
            now += Duration::from_mins(1);
            queue.handle(now, Input::Woke);
            run_all(&mut queue, now, Outcome::AwaitChange);
        });
    });

    group.throughput(Throughput::Elements(10 * KEYS));
    group.bench_function("ten triggers for each waiting key", |b| {
        b.iter_batched(
            queue,
            |(mut queue, now)| {
                for key in keys.iter().cycle().take(10 * keys.len()) {
                    queue.handle(now, Input::Triggered { key: key.clone(), by: Trigger::Related });
                }
                black_box(queue.depth())
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group!(benches, life_of_a_key);
criterion_main!(benches);
