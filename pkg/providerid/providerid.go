// Package providerid parses and formats the provider IDs of servers.
package providerid

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
)

const scheme = "openstack://"

// Of is the provider ID of the node on a server, as cloud-provider-openstack writes it.
func Of(serverID string) string { return OfRegion("", serverID) }

// OfRegion is the same with the region in it, as cloud-provider-openstack writes it with
// OS_CCM_REGIONAL=true, and as the Cluster API provider for OpenStack expects it then.
// Without a region it is Of.
func OfRegion(region, serverID string) string { return scheme + region + "/" + serverID }

// Parse reads the region and the server's ID from a provider ID in one of the forms
// that are in use: openstack:///ID, openstack://REGION/ID and ID alone. The ID must be
// a UUID, which also keeps it from changing the URL that it becomes part of.
func Parse(providerID string) (region, serverID string, err error) {
	id := providerID
	if rest, named := strings.CutPrefix(providerID, scheme); named {
		region, id, _ = strings.Cut(rest, "/") // no ID without a slash
	}
	parsed, err := uuid.Parse(id)
	if err != nil || len(id) != len(parsed.String()) {
		return "", "", fmt.Errorf("provider ID %q is not of the form openstack:///SERVER-ID", providerID)
	}
	return region, parsed.String(), nil
}

// Server gives the server's ID of a provider ID of any region; "" when it is no server
// of OpenStack.
func Server(providerID string) string {
	_, id, err := Parse(providerID)
	if err != nil {
		return ""
	}
	return id
}
