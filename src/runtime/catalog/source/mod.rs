//! Where descriptors come from.
