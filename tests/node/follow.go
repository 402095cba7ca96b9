package node

import (
	"context"
	"io"
	"maps"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// bindRetry is the pause before a port that could not be had is tried again.
const bindRetry = time.Second

// follower does something anew whenever objects of Kubernetes change.
type follower struct {
	factory informers.SharedInformerFactory
	// changed has room for one note that something changed.
	changed chan struct{}
}

func newFollower(factory informers.SharedInformerFactory, followed ...cache.SharedIndexInformer) (follower, error) {
	f := follower{factory: factory, changed: make(chan struct{}, 1)}
	note := func() {
		select {
		case f.changed <- struct{}{}:
		default:
		}
	}
	for _, informer := range followed {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { note() },
			UpdateFunc: func(any, any) { note() },
			DeleteFunc: func(any) { note() },
		})
		if err != nil {
			return follower{}, err
		}
	}
	return f, nil
}

// follow calls sync after each change, and again while the result is not complete, until the
// context ends or sync fails.
func (f follower) follow(ctx context.Context, sync func() (complete bool, err error)) error {
	f.factory.Start(ctx.Done())
	defer f.factory.Shutdown()
	f.factory.WaitForCacheSync(ctx.Done())
	retry := time.NewTicker(bindRetry)
	defer retry.Stop()
	complete := false
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.changed:
		case <-retry.C:
			if complete {
				continue
			}
		}
		var err error
		if complete, err = sync(); err != nil {
			return err
		}
	}
}

// server listens, and its answers can be replaced.
type server[T any] interface {
	io.Closer
	update(T)
}

// replace closes servers that are no longer wanted, updates the others, and opens missing ones. The
// errors are those of open.
func replace[K comparable, T any](running map[K]server[T], wanted map[K]T, open func(K, T) (server[T], error)) []error {
	maps.DeleteFunc(running, func(key K, s server[T]) bool {
		if _, ok := wanted[key]; ok {
			return false
		}
		s.Close()
		return true
	})
	var errs []error
	for key, want := range wanted {
		if s, ok := running[key]; ok {
			s.update(want)
			continue
		}
		s, err := open(key, want)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		running[key] = s
	}
	return errs
}
