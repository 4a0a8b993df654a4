"""Who searches: the protocol, and the agents that come with Searchmark. `searchmark.registry` makes them from names."""
