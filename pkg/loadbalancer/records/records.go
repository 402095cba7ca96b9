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
	// shardCount is the number of ConfigMaps. The hash of the UID selects one: with five thousand
	// records of two hundred bytes each has a quarter of a MiB, and a change of all of them is
	// shardCount writes. Later releases must find records in the same way.
	shardCount = 4
	// maxBytes is the maximum size of a ConfigMap; the API server accepts 1 MiB.
	maxBytes = 768 << 10
	// WritePeriod is how long changes are collected before a write. The drift watch confirms the
	// result of a node change at its next check, so that all of it is written once, or twice if the
	// change takes longer than a check.
	WritePeriod = 5 * time.Minute
	// lastWriteTimeout limits the last write at the end of the process.
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

// ConfigMaps holds the records of all Services. Its methods are safe for concurrent use; Load must
// be called first.
type ConfigMaps struct {
	clock clock.Clock
	// changed has a value while there are changes to write.
	changed chan struct{}

	mu     sync.Mutex
	shards []*shard
}

// New returns ConfigMaps for a client of the namespace kube-system.
func New(maps corev1.ConfigMapInterface, clk clock.Clock) *ConfigMaps {
	c := &ConfigMaps{clock: clk, changed: make(chan struct{}, 1)}
	for _, name := range Names() {
		c.shards = append(c.shards, &shard{maps: maps, name: name, texts: map[types.UID]string{}})
	}
	return c
}

// Load reads the records of the previous process. It retries until the API server answers; the only
// error is that of the context. Without the right to read the ConfigMaps nothing is recorded.
func (c *ConfigMaps) Load(ctx context.Context) error {
	delays := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.1, Steps: 5}
	for _, s := range c.shards {
		for {
			err := s.load(ctx)
			if err == nil {
				break
			}
			klog.FromContext(ctx).Error(err, "Cannot read the records of load balancers, retrying", "configMap", s.name)
			select {
			case <-ctx.Done():
				return fmt.Errorf("read ConfigMap %s: %w", s.name, ctx.Err())
			case <-c.clock.After(delays.Step()):
			}
		}
	}
	return nil
}

// Get returns the record of a Service, "" if there is none.
func (c *ConfigMaps) Get(service types.UID) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shardOf(service).texts[service]
}

// Set records a text of one line for a Service. It is written after WritePeriod at the latest, or
// when Run ends.
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

// awake makes Run write soon.
func (c *ConfigMaps) awake() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// Run writes changes until the context ends, and once more then. live returns the existing
// Services, nil if they are unknown; the records of others are dropped.
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

// dropAllBut drops the records of deleted Services; none if live is nil.
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

// write writes the changed ConfigMaps, and reports whether that succeeded.
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
			klog.FromContext(ctx).Error(err, "Cannot write the records of load balancers, retrying", "configMap", s.name)
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

// load replaces the records in memory by the stored ones.
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
	s.texts = parse(stored.Data[dataKey])
	s.keep(stored)
	return nil
}
