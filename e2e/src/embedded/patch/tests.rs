//! Objects of a few kinds, written as the server writes them, and who owns their fields then.

mod applies;
mod kinds;
mod object;
mod updates;
