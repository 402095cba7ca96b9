package nova

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
)

// sortKeys returns the keys by which lists of servers can be sorted, in the order of Nova's error
// message.
func sortKeys() []string {
	return strings.Fields(`access_ip_v4 access_ip_v6 auto_disk_config availability_zone config_drive created_at
		display_description display_name host hostname image_ref instance_type_id kernel_id key_name launch_index
		launched_at locked_by node power_state progress project_id ramdisk_id root_device_name task_state
		terminated_at updated_at user_id uuid vm_state architecture cell_name cleaned default_ephemeral_device
		default_swap_device deleted deleted_at disable_terminate ephemeral_gb ephemeral_key_uuid id key_data
		launched_on locked memory_mb os_type reservation_id root_gb shutdown_terminate user_data vcpus vm_mode`)
}

// sortServers sorts by the keys that the simulator has values for. Other keys do not change the
// order, like equal values.
func sortServers(records []*server, query url.Values) error {
	keys, directions := query["sort_key"], query["sort_dir"]
	for _, key := range keys {
		if !slices.Contains(sortKeys(), key) {
			return badRequest("Invalid input for query parameters sort_key. Value: %s. '%s' is not one of ['%s']", key, key, strings.Join(sortKeys(), "', '"))
		}
	}
	slices.SortStableFunc(records, func(a, b *server) int {
		for i, key := range keys {
			order := compareServers(a, b, key)
			if i >= len(directions) || directions[i] != "asc" {
				order = -order // descending, unless asked otherwise
			}
			if order != 0 {
				return order
			}
		}
		return 0
	})
	return nil
}

func compareServers(a, b *server, key string) int {
	switch key {
	case "display_name", "hostname":
		return cmp.Compare(a.spec.Name, b.spec.Name)
	case "uuid":
		return cmp.Compare(a.spec.ID, b.spec.ID)
	case "availability_zone":
		return cmp.Compare(a.spec.Zone, b.spec.Zone)
	case "created_at", "launched_at":
		return a.created.Compare(b.created)
	case "updated_at":
		return a.updated.Compare(b.updated)
	case "vm_state":
		return cmp.Compare(a.status, b.status)
	}
	return 0
}
