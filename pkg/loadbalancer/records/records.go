// Package records keeps a text for each Service, so that the next process need not read a
// load balancer that nobody has changed. All texts are in a few ConfigMaps, which are
// written lazily: a change of nodes, which changes every load balancer, costs as many
// writes as there are ConfigMaps, and none on Services.
//
// A record is a hint and proves nothing: whoever may write the ConfigMaps can have a load
// balancer read in vain, or not read until it is changed, and that is all. A ConfigMap that
// is lost costs one read for each load balancer that was recorded in it.
package records

import (
	"context"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// shardCount is in how many ConfigMaps the records are, by the hash of the UID: five
	// thousand records of two hundred bytes make a quarter of a MiB for each, and a change
	// of all of them is as many writes. The next release finds a record by it, too.
	shardCount = 4
	// maxBytes is how much one ConfigMap holds; the API server accepts 1 MiB.
	maxBytes = 768 << 10
	// WritePeriod is how long changes are collected before they are written. The drift
	// watch confirms at its next check what a change of nodes has left, so that all of it
	// is written once, or twice where the change takes longer than a check.
	WritePeriod = 5 * time.Minute
	// lastWriteTimeout is how long the last write may take, when the process ends.
	lastWriteTimeout = 5 * time.Second
)

// Names returns the names of the ConfigMaps, which are in kube-system.
func Names() []string {
	names := make([]string, shardCount)
	for i := range names {
		names[i] = fmt.Sprintf("openstack-load-balancers-%d", i)
	}
	return names
}

// ConfigMaps holds the records of all Services. Its methods may be called from many
// goroutines, Load before any other.
type ConfigMaps struct {
	clock clock.Clock
	// changed has a value while something is to be written.
	changed chan struct{}

	mu     sync.Mutex
	shards []*shard
}

// New returns ConfigMaps that are kept among others, those of kube-system.
func New(maps corev1.ConfigMapInterface, clk clock.Clock) *ConfigMaps {
	c := &ConfigMaps{clock: clk, changed: make(chan struct{}, 1)}
	for _, name := range Names() {
		c.shards = append(c.shards, &shard{maps: maps, name: name, texts: map[types.UID]string{}})
	}
	return c
}

// Load reads what the last process has written. It tries until the API server answers; the
// only error is that of the context. Without the right to read the ConfigMaps nothing is
// recorded.
func (c *ConfigMaps) Load(ctx context.Context) error {
	delays := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.1, Steps: 5}
	for _, s := range c.shards {
		for {
			err := s.load(ctx)
			if err == nil {
				break
			}
			klog.FromContext(ctx).Error(err, "Cannot read what is recorded of load balancers, will try again", "configMap", s.name)
			select {
			case <-ctx.Done():
				return fmt.Errorf("read ConfigMap %s: %w", s.name, ctx.Err())
			case <-c.clock.After(delays.Step()):
			}
		}
	}
	return nil
}

// Get returns the record of a Service, "" where there is none. Kept is false where the
// ConfigMap that would hold it was not there at the start: then nobody knows whether there
// was one.
func (c *ConfigMaps) Get(service types.UID) (text string, kept bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.shardOf(service)
	return s.texts[service], s.found
}

// Set records a text, which is one line, of a Service. It is written after WritePeriod at
// the latest, or when Run ends.
func (c *ConfigMaps) Set(service types.UID, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.shardOf(service)
	if s.texts[service] == text {
		return
	}
	s.texts[service] = text
	s.changes++
	c.awake()
}

// awake has Run write soon.
func (c *ConfigMaps) awake() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// Run writes what has changed until the context ends, and once more then. Live returns the
// Services that there are, nil when that is not known: the records of others are dropped.
func (c *ConfigMaps) Run(ctx context.Context, live func() map[types.UID]bool) {
	for ctx.Err() == nil {
		select {
		case <-c.changed:
		case <-ctx.Done():
			continue
		}
		select {
		case <-c.clock.After(WritePeriod):
		case <-ctx.Done():
			continue
		}
		c.dropAllBut(live())
		if !c.write(ctx) {
			c.awake()
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWriteTimeout)
	defer cancel()
	c.write(last)
}

// dropAllBut drops the records of Services that are gone; none where that is not known.
func (c *ConfigMaps) dropAllBut(live map[types.UID]bool) {
	if live == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.shards {
		for service := range s.texts {
			if !live[service] {
				delete(s.texts, service)
				s.changes++
			}
		}
	}
}

// write writes the ConfigMaps that have changed, and reports whether that has succeeded.
func (c *ConfigMaps) write(ctx context.Context) bool {
	done := true
	for _, s := range c.shards {
		c.mu.Lock()
		changes, data := s.changes, ""
		if changes != s.written {
			data = s.data(ctx)
		}
		c.mu.Unlock()
		if changes == s.written {
			continue
		}
		if err := s.store(ctx, data); err != nil {
			klog.FromContext(ctx).Error(err, "Cannot record what is known of load balancers, trying again", "configMap", s.name)
			done = false
			continue
		}
		s.written = changes
	}
	return done
}

func (c *ConfigMaps) shardOf(service types.UID) *shard {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(service)) // never fails
	return c.shards[hash.Sum32()%shardCount]
}

// load replaces what is known by what is stored.
func (s *shard) load(ctx context.Context) error {
	stored, err := s.maps.Get(ctx, s.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsForbidden(err):
		s.deny(ctx, err)
		return nil
	case err != nil:
		return err
	}
	s.texts, s.found = parse(stored.Data[dataKey]), true
	s.keep(stored)
	return nil
}
