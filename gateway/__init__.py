"""The gateway: between agents and the APIs of their models. It holds the keys; pods hold tokens."""
