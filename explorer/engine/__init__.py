"""The asyncio service that queues, starts and tails jobs; it never imports a numerical library."""
