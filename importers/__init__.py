"""Others' results as attempts of ours: one module a source, pure mappings, readers at the edge."""
