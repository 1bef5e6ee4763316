//! Decides whether a batch of lines is scanned in place or on several threads. In order either way.

use rayon::prelude::*;

use super::{ScanOptions, line::WatchLine};

/// From this many bytes on, work is shared out: about 30 Pods.
///
/// Reckoned from two measurements: scanning runs at 1.2 GB/s, so this much takes 110 us in place and could save half of
/// that on two threads; handing work to sleeping threads takes 10 us in the median and 30 us in the worst tenth. The
/// place where the two lines cross was not measured on a quiet machine. On a busy one 64 and 128 lines gained nothing,
/// and 256 (1.1 MB) took 660 us instead of 1,035 at best.
pub(super) const PARALLEL_FROM: usize = 128 * 1024;

/// The least that one thread takes at a time: 27 us of work, some three times the median cost of handing it over.
pub(super) const MIN_SHARE: usize = 32 * 1024;

impl ScanOptions {
    /// Scans lines of a watch; see [`scan_batch`](super::scan_batch).
    pub fn scan_batch<L: AsRef<[u8]> + Sync>(self, lines: &[L]) -> Vec<WatchLine> {
        let scan = |line: &L| {
            let line = line.as_ref();
            (!line.trim_ascii().is_empty()).then(|| self.scan_line(line))
        };
        let bytes: usize = lines.iter().map(|line| line.as_ref().len()).sum();
        if lines.len() < 2 || bytes < PARALLEL_FROM {
            return lines.iter().filter_map(scan).collect();
        }
        let share = (lines.len() * MIN_SHARE / bytes).max(1);
        lines.par_iter().with_min_len(share).filter_map(scan).collect()
    }
}
