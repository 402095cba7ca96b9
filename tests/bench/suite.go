package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
)

// suite has the sizes to measure.
type suite struct {
	lives, crowds, holds []scale
}

// full returns all sizes.
func full() suite {
	s := suite{
		crowds: []scale{
			{provider: amphora, ports: 3, nodes: 3, services: 1},
			{provider: amphora, ports: 3, nodes: 3, services: 100},
			{provider: ovn, ports: 3, nodes: 3, services: 100},
			{provider: amphora, ports: 3, nodes: 3, services: 100, workers: 1},
			{provider: amphora, ports: 3, nodes: 3, services: 100, workers: 10},
			{provider: amphora, ports: 3, nodes: 3, services: 1000},
		},
		holds: []scale{
			{provider: amphora, ports: 3, nodes: 100, services: 1000},
			{provider: amphora, ports: 3, nodes: 500, services: 1000},
			{provider: amphora, ports: 3, nodes: 1000, services: 200},
		},
	}
	for _, provider := range []string{amphora, ovn} {
		for _, ports := range []int{1, 3, 10} {
			for _, nodes := range []int{3, 100, 1000} {
				s.lives = append(s.lives, scale{provider: provider, ports: ports, nodes: nodes})
			}
		}
		s.lives = append(s.lives,
			scale{provider: provider, ports: 3, nodes: 100, monitors: true},
			scale{provider: provider, ports: 3, nodes: 300},
			scale{provider: provider, ports: 10, nodes: 300})
	}
	s.lives = append(s.lives, scale{provider: amphora, ports: 3, nodes: 100, monitors: true, kubeProxy: true})
	return s
}

// small returns a few sizes of each kind.
func small() suite {
	return suite{
		lives: []scale{
			{provider: amphora, ports: 1, nodes: 3},
			{provider: amphora, ports: 3, nodes: 100},
			{provider: ovn, ports: 3, nodes: 3},
			{provider: amphora, ports: 3, nodes: 3, monitors: true},
			{provider: amphora, ports: 3, nodes: 3, monitors: true, kubeProxy: true},
		},
		crowds: []scale{
			{provider: amphora, ports: 3, nodes: 3, services: 20},
			{provider: amphora, ports: 3, nodes: 3, services: 20, workers: 1},
		},
	}
}

// run measures one size after the other. With an error it returns the rows so far.
func (s suite) run(t *testing.T, progress io.Writer) ([]Row, error) {
	t.Helper()
	var rows []Row
	for _, group := range []struct {
		scales []scale
		live   func(context.Context, scale) ([]Row, error)
	}{{s.lives, inBubble(t, liveOnce)}, {s.crowds, inBubble(t, liveMany)}, {s.holds, hold}} {
		for _, at := range group.scales {
			fmt.Fprintln(progress, at)
			more, err := group.live(t.Context(), at)
			rows = slices.Concat(rows, more)
			if err != nil {
				return rows, fmt.Errorf("%s: %w", at, err)
			}
		}
	}
	return rows, nil
}

// inBubble returns live in a bubble of its own.
func inBubble(t *testing.T, live func(context.Context, scale) ([]Row, error)) func(context.Context, scale) ([]Row, error) {
	t.Helper()
	return func(_ context.Context, at scale) (rows []Row, err error) {
		synctest.Test(t, func(t *testing.T) { rows, err = live(t.Context(), at) })
		return rows, err
	}
}
