package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

func TestPackStep_LosesNothing(t *testing.T) {
	t.Parallel()
	member := func(id, address string) model.Member { return model.Member{ID: id, Address: address, Port: 30080} }
	members := []model.Member{member("", "10.0.0.1"), member("9f4c7f0e-6ad5-4a5d-8a5b-0e9b4a3c2d10", "10.0.0.2")}
	for _, step := range []plan.Step{
		plan.CreateLoadBalancer{
			LoadBalancer: &model.LoadBalancer{Name: "lb", Listeners: []model.Listener{{Port: 80, Pool: model.Pool{Name: "pool", Members: members}}}},
			Replaces:     "old", Why: "because",
		},
		plan.SetMembers{Pool: plan.PoolRef{ID: "pool"}, Members: members, Added: members[:1], Changed: members[1:], Removed: []model.Member{member("no UUID", "10.0.0.3")}},
		plan.AddMember{Pool: plan.PoolRef{ID: "pool"}, Member: members[0]},
	} {
		packed := packStep(step, model.PackedMembers{})
		if diff := cmp.Diff(step, unpackStep(packStep(packed, model.PackedMembers{}))); diff != "" {
			t.Errorf("%T: %s", step, diff)
		}
		if packed.String() != step.String() {
			t.Errorf("packed it prints as %q, want %q", packed, step)
		}
	}
}

// A change of the sources of a thousand load balancers keeps none of their members unpacked.
func TestPackStep_DropsMembersThatStepDoesNotTouch(t *testing.T) {
	t.Parallel()
	pool := model.Pool{ID: "pool", Name: "pool", Members: []model.Member{{Address: "10.0.0.1"}}}
	another := model.Pool{Name: "another", Members: pool.Members}
	for _, step := range []plan.Step{
		plan.UpdateListener{ID: "listener", From: model.Listener{Pool: pool}, To: model.Listener{AllowedCIDRs: []string{"10.0.0.0/8"}, Pool: pool}},
		plan.UpdatePool{Pool: plan.PoolRef{ID: "pool"}, From: pool, To: pool},
	} {
		packed := packStep(step, model.PackedMembers{})
		if text := fmt.Sprintf("%#v", packed); strings.Contains(text, "10.0.0.1") || packed.String() != step.String() {
			t.Errorf("it waits as %s", text)
		}
	}
	switches := plan.UpdateListener{ID: "listener", From: model.Listener{Pool: pool}, To: model.Listener{Pool: another}}
	if kept, ok := packStep(switches, model.PackedMembers{}).(plan.UpdateListener); !ok || len(kept.To.Pool.Members) != 1 {
		t.Errorf("the pool that the listener gets has lost its members: %+v", kept)
	}
}

func TestSenders_BoundCreationsAndHoldUpNoBatch(t *testing.T) {
	t.Parallel()
	var s senders
	var begun, ended sync.WaitGroup
	end := make(chan struct{})
	begun.Add(maxCreationSenders)
	for range maxCreationSenders {
		ended.Go(func() {
			if err := s.creation(t.Context(), func() { begun.Done(); <-end }); err != nil {
				t.Error(err)
			}
		})
	}
	begun.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.creation(ctx, func() { t.Error("more creations are sent than may be") }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	sent := false
	if err := s.batch(t.Context(), func() { sent = true }); err != nil || !sent {
		t.Errorf("the batch was sent: %v, error %v", sent, err)
	}
	close(end)
	ended.Wait()
}
