//! Scans many lines at once, in order; on several threads where there is enough of it.

use rayon::prelude::*;

use super::{ScanOptions, line::WatchLine};

/// From this many bytes on, work is shared out.
pub(super) const PARALLEL_FROM: usize = 128 * 1024;

/// The least that one thread takes at a time.
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
