"""The one way out of a pod: names and connections that an allow-list lets, each of them counted."""
