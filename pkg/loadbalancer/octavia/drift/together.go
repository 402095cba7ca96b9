package drift

import (
	"context"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// After the creation of many load balancers, and after each change of nodes, one snapshot must
// confirm all of them. Most are unchanged since this process created them: tags find all of their
// parts, so that four requests read a group of them, instead of two or three for each.

const (
	// groupSize bounds the load balancers of a group, because a request has the tag of each.
	groupSize = 20
	// groupMembers bounds their members: for a list of pools, Octavia loads every member, at about
	// 90 ms per thousand.
	groupMembers = 5000
)

// settingsRead are settings that were read together, by the ID of the load balancer.
type settingsRead map[string]observe.Parts

// together yields all Services, each with the settings of its group. A group is read with its first
// Service, so that only one is in memory.
func (in *inspector) together(ctx context.Context, all map[types.UID]*state.Applied, snap *project.Snapshot) iter.Seq2[types.UID, settingsRead] {
	return func(yield func(types.UID, settingsRead) bool) {
		var group []types.UID
		members := 0
		end := func() bool {
			read := in.readGroup(ctx, all, group)
			for _, uid := range group {
				if !yield(uid, read) {
					return false
				}
			}
			group, members = nil, 0
			return true
		}
		for uid, applied := range all {
			if !in.readInGroup(uid, applied, snap) {
				if !yield(uid, nil) {
					return
				}
				continue
			}
			of := applied.Contents.CountMembers()
			if (len(group) == groupSize || members+of > groupMembers) && !end() {
				return
			}
			group, members = append(group, uid), members+of
		}
		end()
	}
}

// readInGroup reports whether inspect reads the settings of a load balancer, and tags should show
// all of them.
func (in *inspector) readInGroup(uid types.UID, applied *state.Applied, snap *project.Snapshot) bool {
	return applied.Depth != model.Listed && applied.LoadBalancer.Shared == nil && applied.ConfirmableBy(snap) && applied.DriftIn(snap) == "" &&
		slices.Contains(snap.LoadBalancers[applied.LoadBalancer.ID].Tags, applied.Identity.ServiceTag()) && !in.changing(uid, applied)
}

// readGroup reads the settings of a group; nil if it has only one, or on an error: then each is
// read alone.
func (in *inspector) readGroup(ctx context.Context, all map[types.UID]*state.Applied, group []types.UID) settingsRead {
	if len(group) < 2 {
		return nil
	}
	services := make([]ownership.Identity, 0, len(group))
	for _, uid := range group {
		services = append(services, all[uid].Identity)
	}
	read, err := in.options.Project.SettingsOf(ctx, services)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Cannot read load balancers together, reading each", "loadBalancers", len(group), "err", err)
		return nil
	}
	return read
}
