"""Blobs: files kept by content where every node can reach them: task bundles and logs."""
