package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/control/client"
)

// The names of phases that other code uses.
const (
	phaseStart   = "start"
	phaseCreate  = "create"
	phaseReplace = "node-replace"
	phaseIdle    = "idle"
)

// phase is a part of the life of a cluster.
type phase struct {
	name string
	// prepare is called before the phase begins; it may be nil.
	prepare func(*environment)
	// play makes the changes and returns when all load balancers have their desired state.
	play func(*environment, context.Context) error
	// inCloud is set if the phase ends with the cloud's last work, not with the check that finds
	// it.
	inCloud bool
	// limit is the cloud's minimum time for it.
	limit func(size, settings) time.Duration
}

// phases returns all phases in their order.
func phases() []phase {
	nothing := func(size, settings) time.Duration { return 0 }
	of := func(limit func(size) time.Duration) func(size, settings) time.Duration {
		return func(s size, o settings) time.Duration { return o.sped(limit(s)) }
	}
	return []phase{
		{name: phaseStart, prepare: (*environment).stopController, play: (*environment).restart, limit: nothing},
		{name: phaseCreate, play: (*environment).create, limit: func(s size, o settings) time.Duration { return o.sped(s.createLimit(o.boot)) }},
		{name: "resync", play: (*environment).resync, limit: nothing},
		{name: "node-add", play: (*environment).addNode, inCloud: true, limit: of(size.changeLimit)},
		{name: "node-remove", play: (*environment).removeNode, inCloud: true, limit: of(size.changeLimit)},
		{name: phaseReplace, play: (*environment).replaceNodes, inCloud: true, limit: func(s size, o settings) time.Duration {
			return time.Duration(o.replaced(s)) * o.sped(s.replaceLimit())
		}},
		{name: "restart", prepare: (*environment).stopController, play: (*environment).restart, limit: nothing},
		{name: "spec-change", play: (*environment).changeSpecs, inCloud: true, limit: of(size.changeLimit)},
		{name: phaseIdle, play: (*environment).idle, limit: func(_ size, o settings) time.Duration { return o.idle }},
		{name: "restart-idle", prepare: (*environment).stopController, play: (*environment).restart, limit: nothing},
		{name: "delete", play: (*environment).deleteAll, limit: of(size.deleteLimit)},
	}
}

func phaseNames() []string {
	var names []string
	for _, p := range phases() {
		names = append(names, p.name)
	}
	return names
}

// takeover follows phases with another controller: the one of this checkout takes its place.
func takeover() phase {
	return phase{
		name: "takeover", prepare: (*environment).stopController, play: (*environment).takeOver,
		limit: func(size, settings) time.Duration { return 0 },
	}
}

func phaseNamed(name string) (phase, error) {
	for _, p := range append(phases(), takeover()) {
		if p.name == name {
			return p, nil
		}
	}
	return phase{}, fmt.Errorf("phase %q: want one of %s", name, strings.Join(append(phaseNames(), takeover().name), ", "))
}

// sped converts a time of a real cloud to one of the simulated cloud.
func (o settings) sped(d time.Duration) time.Duration { return time.Duration(float64(d) / o.speed) }

// replaced returns the number of nodes that are replaced one by one.
func (o settings) replaced(s size) int {
	if o.replace > 0 {
		return min(o.replace, s.nodes)
	}
	return max(1, s.nodes/10)
}

func (w *environment) create(ctx context.Context) error {
	names := serviceNames(w.size.services)
	if err := w.services.create(ctx, names, w.size.ports); err != nil {
		return err
	}
	return w.until(ctx, "", nil, func(found client.Summary) error {
		_, addressed, _ := w.services.count()
		return errors.Join(
			want("Services have an address", addressed, w.size.services),
			want("members are there", found.Members, w.size.members()))
	})
}

// resync makes the service controller sync every Service, without a change that affects it.
func (w *environment) resync(ctx context.Context) error {
	before, err := w.ccm.Load().Ensured(ctx)
	if err != nil {
		return err
	}
	touched := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"load.test/touched": time.Now().String()}}}
	if err := w.services.patch(ctx, serviceNames(w.size.services), touched); err != nil {
		return err
	}
	return w.untilEnsured(ctx, before+w.size.services)
}

func (w *environment) addNode(ctx context.Context) error {
	address, err := w.nodes.add(ctx)
	if err != nil {
		return err
	}
	return w.untilMembers(ctx, address, "")
}

func (w *environment) removeNode(ctx context.Context) error {
	address, err := w.nodes.removeOldest(ctx)
	if err != nil {
		return err
	}
	return w.untilMembers(ctx, "", address)
}

// replaceNodes replaces one node after the other, as a rolling upgrade does: the next one when all
// load balancers have finished the previous one.
func (w *environment) replaceNodes(ctx context.Context) error {
	for range w.options.replaced(w.size) {
		added, err := w.nodes.add(ctx)
		if err != nil {
			return err
		}
		removed, err := w.nodes.removeOldest(ctx)
		if err != nil {
			return err
		}
		if err := w.untilMembers(ctx, added, removed); err != nil {
			return err
		}
	}
	return nil
}

// restart replaces the controller by one without a state. Its time begins with the new one.
func (w *environment) restart(ctx context.Context) error {
	if err := w.runController(ctx); err != nil {
		return err
	}
	existing, _, _ := w.services.count()
	return w.untilEnsured(ctx, existing)
}

func (w *environment) takeOver(ctx context.Context) error {
	w.program.Program, w.program.Ready = w.own, ""
	return w.restart(ctx)
}

// changeSpecs changes the permitted clients of all Services, which changes each listener.
func (w *environment) changeSpecs(ctx context.Context) error {
	w.services.changes++
	cidr := fmt.Sprintf("10.%d.0.0/16", w.services.changes)
	changed := map[string]any{"spec": map[string]any{"loadBalancerSourceRanges": []string{cidr}}}
	if err := w.services.patch(ctx, serviceNames(w.size.services), changed); err != nil {
		return err
	}
	return w.until(ctx, cidr, nil, func(found client.Summary) error {
		return want("listeners are changed", found.ListenersAllowing, w.size.pools())
	})
}

// idle changes nothing.
func (w *environment) idle(ctx context.Context) error {
	w.wait("leaving everything alone for " + w.options.idle.String())
	select {
	case <-time.After(w.options.idle):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *environment) deleteAll(ctx context.Context) error {
	if err := w.services.remove(ctx, serviceNames(w.size.services)); err != nil {
		return err
	}
	err := w.until(ctx, "", nil, func(found client.Summary) error {
		existing, _, _ := w.services.count()
		return errors.Join(want("Services are left", existing, 0), want("load balancers are left", found.LoadBalancers, 0))
	})
	if err != nil {
		return err
	}
	left, err := w.cloud.Cloud.Leftovers(ctx)
	if err != nil {
		return err
	}
	return want("objects of the cloud are left behind", left.Count, 0)
}

// untilMembers returns when every pool has a member at one address and none at the other. If pools
// have only some of the nodes, it returns when no changes are under way.
func (w *environment) untilMembers(ctx context.Context, added, removed string) error {
	var writes int
	changed := time.Now()
	return w.until(ctx, "", []string{added, removed}, func(found client.Summary) error {
		if found.Writes != writes {
			writes, changed = found.Writes, time.Now()
		}
		if !w.size.everyNode() {
			if time.Since(changed) < selectionQuiet {
				return fmt.Errorf("%d writes, and it is not quiet yet", found.Writes)
			}
			return want("pools still have the removed node", found.PoolsWith[removed], 0)
		}
		var errs []error
		if added != "" {
			errs = append(errs, want("pools have the added node", found.PoolsWith[added], w.size.pools()))
		}
		return errors.Join(append(errs, want("pools have the removed node", found.PoolsWith[removed], 0))...)
	})
}

// selectionQuiet is the time without writes after which a change of nodes counts as done if not
// every node is a member: longer than changes are collected.
const selectionQuiet = 8 * time.Second

// untilEnsured returns when the controller has been called for Services that often.
func (w *environment) untilEnsured(ctx context.Context, calls int) error {
	return w.until(ctx, "", nil, func(client.Summary) error {
		done, err := w.ccm.Load().Ensured(ctx)
		if err != nil {
			return err
		}
		if done < calls {
			return fmt.Errorf("%d of %d calls of the service controller", done, calls)
		}
		return nil
	})
}

// The pause between two checks has this minimum, and is this multiple of the time of a check.
const (
	lookPause = 200 * time.Millisecond
	lookShare = 20
)

// until returns when check does, and no load balancer is in a PENDING state; or when the
// controller has ended.
func (w *environment) until(ctx context.Context, cidr string, addresses []string, check func(client.Summary) error) error {
	addresses = slices.DeleteFunc(addresses, func(address string) bool { return address == "" })
	pause := time.Duration(0)
	return w.ccm.Load().Await(ctx, func(ctx context.Context) error {
		select { // slow checks are made less often
		case <-ctx.Done():
		case <-time.After(pause):
		}
		begin := time.Now()
		found, err := w.cloud.Cloud.Summary(ctx, cidr, addresses...)
		if err != nil {
			return err
		}
		pause, w.finished = max(lookPause, lookShare*time.Since(begin)), begin.Add(-w.options.sped(time.Duration(found.Quiet*float64(time.Second))))
		err = errors.Join(check(found), want("load balancers are PENDING", found.Pending, 0), want("load balancers are in ERROR", found.Failed, 0))
		if err != nil {
			w.wait(strings.ReplaceAll(err.Error(), "\n", ", "))
		}
		return err
	})
}

// want returns an error unless the numbers are equal.
func want(what string, got, wanted int) error {
	if got == wanted {
		return nil
	}
	return fmt.Errorf("%d %s, want %d", got, what, wanted)
}
