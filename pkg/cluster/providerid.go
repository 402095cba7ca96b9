package cluster

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
)

const scheme = "openstack://"

// ProviderID returns the provider ID of the node on a server, in the form of
// cloud-provider-openstack.
func ProviderID(serverID string) string { return RegionalProviderID("", serverID) }

// RegionalProviderID returns it with the region, in the form of cloud-provider-openstack with
// OS_CCM_REGIONAL=true, which the Cluster API provider for OpenStack then expects. Without a region
// it is ProviderID.
func RegionalProviderID(region, serverID string) string { return scheme + region + "/" + serverID }

// ParseProviderID returns the region and the server's ID of a provider ID in one of the known
// forms: openstack:///ID, openstack://REGION/ID and ID alone. The ID must be a UUID, so that it
// cannot change the URL that it becomes part of.
func ParseProviderID(providerID string) (region, serverID string, err error) {
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

// ServerID returns the server's ID in a provider ID of any region; "" for none of OpenStack.
func ServerID(providerID string) string {
	_, id, err := ParseProviderID(providerID)
	if err != nil {
		return ""
	}
	return id
}
