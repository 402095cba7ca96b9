package octavia

import (
	"context"
	"net/url"
	"strconv"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// memberAPI reads and writes the members of pools.
type memberAPI struct{ requests }

// Members lists the members of a pool. On Octavia before 16.0 the server's work
// grows with the square of their number (LP#2019311): use StatusTree there.
func (c memberAPI) Members(ctx context.Context, poolID string) ([]Member, error) {
	return listAll(ctx, c.requests, membersOf(poolID), url.Values{}, func(m Member) string { return m.ID })
}

// MembersWith lists the members of a pool that have a setting at a value, such as "weight" at "0".
// Its costs for Octavia depend on these members only.
func (c memberAPI) MembersWith(ctx context.Context, poolID, setting, value string) ([]Member, error) {
	q := url.Values{setting: {value}}
	return listAll(ctx, c.requests, membersOf(poolID), q, func(m Member) string { return m.ID })
}

// MemberAt finds the members of a pool at one address and port: at most one.
func (c memberAPI) MemberAt(ctx context.Context, poolID, address string, port int) ([]Member, error) {
	q := url.Values{"address": {address}, "protocol_port": {strconv.Itoa(port)}}
	return listAll(ctx, c.requests, membersOf(poolID), q, func(m Member) string { return m.ID })
}

// FirstMember returns the first member of a pool in an order, such as "weight:desc"; none if the
// pool is empty.
func (c memberAPI) FirstMember(ctx context.Context, poolID, order string) ([]Member, error) {
	var answer struct {
		Members []Member `json:"members"`
	}
	q := url.Values{"sort": {order}, "limit": {"1"}}
	if err := c.get(ctx, membersOf(poolID)+"?"+q.Encode(), &answer); err != nil {
		return nil, apierror.Wrap(err, "list members of pool "+poolID)
	}
	return answer.Members[:min(1, len(answer.Members))], nil
}

// SetMembers replaces the members of a pool. With additive, it leaves the other members (Octavia
// 2.11). An address and port must not occur twice: Octavia up to 14.0.0 would stay in
// PENDING_UPDATE for ever.
func (c memberAPI) SetMembers(ctx context.Context, poolID string, members []Member, additive bool) error {
	suffix := "/members"
	if additive {
		suffix += "?additive_only=true"
	}
	if members == nil {
		members = []Member{} // Octavia answers 500 to null
	}
	return apierror.Wrap(c.put(ctx, "pools", poolID, suffix, map[string]any{"members": members}, nil), "set members of pool "+poolID)
}

// AddMember adds one member to a pool, and returns its ID.
func (c memberAPI) AddMember(ctx context.Context, poolID string, member Member) (id string, err error) {
	added, err := create(ctx, c.requests, membersOf(poolID), "member", member, "add member "+member.Name+" to pool "+poolID)
	if err != nil {
		return "", err
	}
	return added.ID, nil
}

// UpdateMember changes settings of one member.
func (c memberAPI) UpdateMember(ctx context.Context, poolID, memberID string, changes Changes) error {
	_, err := update[ObjectID](ctx, c.requests, membersOf(poolID), memberID, "member", changes, "update member "+memberID+" of pool "+poolID)
	return err
}

// RemoveMember removes one member of a pool. It is no error if the member does not exist.
func (c memberAPI) RemoveMember(ctx context.Context, poolID, memberID string) error {
	return apierror.IgnoreNotFound(c.remove(ctx, membersOf(poolID), memberID, "", "remove member "+memberID+" from pool "+poolID))
}

// membersOf returns the path of the members of a pool.
func membersOf(poolID string) string { return "pools/" + url.PathEscape(poolID) + "/members" }
