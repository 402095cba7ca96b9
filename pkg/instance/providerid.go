package instance

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
)

const providerScheme = "openstack://"

// providerID is the provider ID of the node on a server, as the peer writes it.
func providerID(serverID string) string { return providerScheme + "/" + serverID }

// serverID reads the server's ID from a provider ID in one of the forms that are
// in use: openstack:///ID, openstack://REGION/ID and ID alone. The region must be
// ours. The ID must be a UUID, which also keeps it from changing the URL that it
// becomes part of.
func serverID(providerID, ourRegion string) (string, error) {
	id := providerID
	if rest, ok := strings.CutPrefix(providerID, providerScheme); ok {
		region, last, found := strings.Cut(rest, "/")
		if !found {
			return "", fmt.Errorf("provider ID %q is not of the form openstack:///SERVER-ID", providerID)
		}
		if region != "" && region != ourRegion {
			return "", fmt.Errorf("provider ID %q is of region %q, and this cloud-controller-manager serves region %q", providerID, region, ourRegion)
		}
		id = last
	}
	parsed, err := uuid.Parse(id)
	if err != nil || len(id) != len(parsed.String()) {
		return "", fmt.Errorf("provider ID %q is not of the form openstack:///SERVER-ID", providerID)
	}
	return parsed.String(), nil
}
