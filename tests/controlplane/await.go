package controlplane

import (
	"context"
	"fmt"
	"time"
)

// poll is the pause between two looks at something that nobody announces.
const poll = 20 * time.Millisecond

// Await calls check until it returns nil. When the context ends first, the
// error has check's last one.
func Await(ctx context.Context, check func(context.Context) error) error {
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; last: %w", context.Cause(ctx), err)
		case <-time.After(poll):
		}
	}
}
