package nova

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Statuses of a server that are relevant for a Kubernetes node (Nova's API reference, "Server
// status").
const (
	ServerDeleted          = "DELETED"
	ServerSoftDeleted      = "SOFT_DELETED"
	ServerShutoff          = "SHUTOFF"
	ServerShelved          = "SHELVED"
	ServerShelvedOffloaded = "SHELVED_OFFLOADED"
	// ServerUnknown: the server's cell is down, and only its ID is known.
	ServerUnknown = "UNKNOWN"
)

// Server holds the attributes of a server that the client reads.
type Server struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Status string `json:"status"`
	// Zone is the availability zone; empty while the server has no host.
	Zone       string            `json:"OS-EXT-AZ:availability_zone"`
	AccessIPv4 string            `json:"accessIPv4"`
	AccessIPv6 string            `json:"accessIPv6"`
	Metadata   map[string]string `json:"metadata"`
	// Addresses in the order of the server's ports, as cached by Nova.
	Addresses ServerAddresses `json:"addresses"`
	// FlavorName is empty if the flavor was deleted on a cloud before 2.47.
	FlavorName string `json:"-"`
	// FlavorID is empty from microversion 2.47 on.
	FlavorID string `json:"-"`
}

// ServerAddress is one address of a server.
type ServerAddress struct {
	// Network is the name of the network.
	Network string
	Address string
	// Floating is set for a floating IP, and not for an address of the port.
	Floating bool
}

// ServerAddresses keep the order of Nova's answer.
type ServerAddresses []ServerAddress

// UnmarshalJSON decodes a server; its flavor has two formats.
func (s *Server) UnmarshalJSON(text []byte) error {
	type plain Server
	var flavored struct {
		plain
		Flavor struct {
			ID           string `json:"id"`
			OriginalName string `json:"original_name"`
		} `json:"flavor"`
	}
	if err := json.Unmarshal(text, &flavored); err != nil {
		return err
	}
	*s = Server(flavored.plain)
	s.FlavorID, s.FlavorName = flavored.Flavor.ID, flavored.Flavor.OriginalName
	return nil
}

// UnmarshalJSON decodes {"network": [{"addr": …, "OS-EXT-IPS:type": …}]} and keeps the order of the
// networks, unlike a map.
func (a *ServerAddresses) UnmarshalJSON(text []byte) error {
	if bytes.Equal(text, []byte("null")) {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if opening, _ := decoder.Token(); opening != json.Delim('{') {
		return fmt.Errorf("the addresses of a server are not an object: they start with %v", opening)
	}
	*a = nil
	for decoder.More() {
		network, err := decoder.Token()
		if err != nil {
			return err
		}
		var entries []struct {
			Address string `json:"addr"`
			Type    string `json:"OS-EXT-IPS:type"`
		}
		if err := decoder.Decode(&entries); err != nil {
			return fmt.Errorf("addresses on network %v: %w", network, err)
		}
		for _, entry := range entries {
			*a = append(*a, ServerAddress{Network: fmt.Sprint(network), Address: entry.Address, Floating: entry.Type == "floating"})
		}
	}
	return nil
}
