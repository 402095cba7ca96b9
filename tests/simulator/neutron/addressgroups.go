package neutron

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// addressGroup is a set of prefixes that rules of security groups name as
// their remote.
type addressGroup struct {
	standard
	Name      string   `json:"name"`
	Shared    bool     `json:"shared"`
	Addresses []string `json:"addresses"`
}

// shownGroup is the form that GET, POST and PUT answer with: without what
// add_addresses and remove_addresses tell besides.
type shownGroup struct {
	*addressGroup
	Shared         *struct{} `json:"shared,omitempty"`
	Tags           *struct{} `json:"tags,omitempty"`
	CreatedAt      *struct{} `json:"created_at,omitempty"`
	UpdatedAt      *struct{} `json:"updated_at,omitempty"`
	RevisionNumber *struct{} `json:"revision_number,omitempty"`
}

// changedGroup is the form that add_addresses and remove_addresses answer with.
type changedGroup struct {
	*addressGroup
	Tags *struct{} `json:"tags,omitempty"`
}

type addressGroupRequest struct {
	TenantID    optional[string]   `json:"tenant_id"`
	ProjectID   optional[string]   `json:"project_id"`
	Name        optional[string]   `json:"name" check:"text"`
	Description optional[string]   `json:"description" check:"text"`
	Addresses   optional[[]string] `json:"addresses" check:"prefixes"`
}

type addressGroupUpdateRequest struct {
	Name        optional[string] `json:"name" check:"text"`
	Description optional[string] `json:"description" check:"text"`
}

// AddressGroup is an address group as the Go side sees it.
type AddressGroup struct {
	ID, ProjectID, Name, Description string
	Addresses                        []string
}

// AddressGroups lists all address groups in the order they were made.
func (n *Neutron) AddressGroups() []AddressGroup {
	n.lock()
	defer n.unlock()
	return views(n.addressGroups.all(), func(record *addressGroup) AddressGroup {
		return AddressGroup{
			ID: record.ID, ProjectID: record.ProjectID, Name: record.Name, Description: record.Description,
			Addresses: slices.Clone(record.Addresses),
		}
	})
}

func (n *Neutron) addressGroupFor(c *call) (*addressGroup, error) {
	record, ok := n.addressGroups.get(c.PathValue("id"))
	if !ok || !c.sees(record.ProjectID) {
		return nil, addressGroupNotFound(c.PathValue("id"))
	}
	return record, nil
}

func (n *Neutron) listAddressGroups(c *call) (int, any, error) {
	seen := []*shownGroup{}
	for _, record := range n.addressGroups.all() {
		if c.sees(record.ProjectID) {
			seen = append(seen, &shownGroup{addressGroup: record})
		}
	}
	return list(n, c, "address_groups", seen, addressGroupNotFound)
}

func (n *Neutron) showAddressGroup(c *call) (int, any, error) {
	record, err := n.addressGroupFor(c)
	if err != nil {
		return 0, nil, err
	}
	return show(c, "address_group", &shownGroup{addressGroup: record})
}

func (n *Neutron) postAddressGroup(c *call) (int, any, error) {
	request, err := decode[addressGroupRequest](c, "address_group", addressGroup{})
	if err != nil {
		return 0, nil, err
	}
	project, err := c.project(request.ProjectID.get(), request.TenantID.get())
	if err != nil {
		return 0, nil, err
	}
	record := &addressGroup{
		standard: n.newStandard("", project, request.Description.get(), nil),
		Name:     request.Name.get(), Addresses: append([]string{}, request.Addresses.get()...),
	}
	n.addressGroups.put(record.ID, record)
	n.changed = true
	return http.StatusCreated, map[string]any{"address_group": &shownGroup{addressGroup: record}}, nil
}

func (n *Neutron) putAddressGroup(c *call) (int, any, error) {
	record, err := n.addressGroupFor(c)
	if err != nil {
		return 0, nil, err
	}
	request, err := decode[addressGroupUpdateRequest](c, "address_group", addressGroup{})
	if err != nil {
		return 0, nil, err
	}
	if err := matchRevision(c, record.standard); err != nil {
		return 0, nil, err
	}
	set(&record.Name, request.Name.value)
	set(&record.Description, request.Description.value)
	n.bump(&record.standard)
	return http.StatusOK, map[string]any{"address_group": &shownGroup{addressGroup: record}}, nil
}

func (n *Neutron) deleteAddressGroup(c *call) (int, any, error) {
	record, err := n.addressGroupFor(c)
	if err != nil {
		return 0, nil, err
	}
	for _, group := range n.securityGroups.all() {
		for _, rule := range group.Rules {
			if valueOf(rule.RemoteAddressGroupID) == record.ID {
				return 0, nil, conflict("AddressGroupInUse", "Address group %s is in use on one or more security group rules.", record.ID)
			}
		}
	}
	n.addressGroups.remove(record.ID)
	n.changed = true
	return http.StatusNoContent, nil, nil
}

// addAddresses takes prefixes in; not one of them may be there already.
func (n *Neutron) addAddresses(c *call) (int, any, error) {
	return n.changeAddresses(c, func(record *addressGroup, given []string) error {
		if twice := slices.DeleteFunc(slices.Clone(given), func(text string) bool { return !slices.Contains(record.Addresses, text) }); len(twice) > 0 {
			return badRequest("AddressesAlreadyExist", "Addresses %s already exist in the address group %s.", quotedList(twice), record.ID)
		}
		record.Addresses = append(slices.Clone(record.Addresses), given...)
		return nil
	})
}

// removeAddresses takes prefixes out; every one of them must be there.
func (n *Neutron) removeAddresses(c *call) (int, any, error) {
	return n.changeAddresses(c, func(record *addressGroup, given []string) error {
		if unknown := slices.DeleteFunc(slices.Clone(given), func(text string) bool { return slices.Contains(record.Addresses, text) }); len(unknown) > 0 {
			return notFound("AddressesNotFound", "Addresses %s not found in the address group %s.", quotedList(unknown), record.ID)
		}
		record.Addresses = slices.DeleteFunc(slices.Clone(record.Addresses), func(text string) bool { return slices.Contains(given, text) })
		return nil
	})
}

// changeAddresses reads {"addresses": [...]}, which has no envelope. Neutron
// does not look whether it is there, and fails.
func (n *Neutron) changeAddresses(c *call, change func(*addressGroup, []string) error) (int, any, error) {
	record, err := n.addressGroupFor(c)
	if err != nil {
		return 0, nil, err
	}
	var request struct {
		Addresses []string `json:"addresses"`
	}
	if err := json.Unmarshal(c.body, &request); err != nil || request.Addresses == nil {
		return 0, nil, fmt.Errorf("addresses of address group %s are no list", record.ID)
	}
	for i, text := range request.Addresses {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return 0, nil, badRequest("AddrFormatError", "invalid IPNetwork %s", text)
		}
		request.Addresses[i] = prefix.Masked().String()
	}
	if err := change(record, request.Addresses); err != nil {
		return 0, nil, err
	}
	n.bump(&record.standard)
	return http.StatusOK, map[string]any{"address_group": &changedGroup{addressGroup: record}}, nil
}

// quotedList is a list as Python writes it.
func quotedList(texts []string) string { return "['" + strings.Join(texts, "', '") + "']" }
