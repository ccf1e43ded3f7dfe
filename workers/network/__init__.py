"""A pod's way to this node: links, rates that are capped, and rates that are measured."""
