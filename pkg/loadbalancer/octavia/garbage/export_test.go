package garbage

import "context"

// Look is one look of a Collector.
func (c *Collector) Look(ctx context.Context) error { return c.look(ctx) }
