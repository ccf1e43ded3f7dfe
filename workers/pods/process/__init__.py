"""Pods that are processes of this machine, under limits of its kernel."""
