package openstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gophercloud/gophercloud/v2"
)

// ErrServerNotFound says that Nova itself answered 404 for a server: the token
// was accepted, the request reached Nova, and it has no such server in the
// project. A 404 of a proxy or of a wrong endpoint is another error.
var ErrServerNotFound = errors.New("no such server")

// ErrIncompleteList says that a list of servers may lack some, because a cell of
// Nova is down or the cloud is too old to tell. Absence from it proves nothing.
var ErrIncompleteList = errors.New("the list of servers may be incomplete")

// Nova reads servers. It remembers the microversion that the cloud accepts and
// the names of flavors, so keep one for the life of the session. All methods may
// be called at the same time. Errors are those of Wrap.
type Nova struct {
	compute func(context.Context) (*gophercloud.ServiceClient, error)
	// version indexes microversions: the newest that the cloud may accept.
	version atomic.Int32
	// flavorNames by ID, for clouds older than 2.47. A flavor cannot be renamed.
	flavorNames sync.Map
}

// Nova gives the typed calls of the compute service.
func (s *Session) Nova() *Nova { return &Nova{compute: s.Compute} }

// completeLists is the microversion from which a list names the servers of a
// cell that is down (as status UNKNOWN) instead of leaving them out.
const completeLists = "2.69"

// microversions are the ones asked for, best first: 2.69 (Stein) tells of cells
// that are down, 2.47 (Pike) embeds the flavor's name; the last is Nova's default.
func microversions() []string { return []string{completeLists, "2.47", ""} }

// GetServer reads one server of the project. The error is ErrServerNotFound only
// when Nova itself says that there is none.
func (n *Nova) GetServer(ctx context.Context, id string) (*Server, error) {
	var answer struct {
		Server Server `json:"server"`
	}
	if _, err := n.get(ctx, "servers/"+url.PathEscape(id), &answer); err != nil {
		wrapped := Wrap(err, "read server "+id)
		if isNovaNotFound(err) {
			return nil, fmt.Errorf("%w: %w", ErrServerNotFound, wrapped)
		}
		return nil, wrapped
	}
	if answer.Server.ID == "" {
		return nil, fmt.Errorf("read server %s: the answer is no server", id)
	}
	if err := n.nameFlavor(ctx, &answer.Server); err != nil {
		return nil, err
	}
	return &answer.Server, nil
}

// ServersByName lists the servers of the project with exactly this name. Servers
// of a cell that is down are not among them: to be sure that there is none ask
// ListServers.
func (n *Nova) ServersByName(ctx context.Context, name string) ([]Server, error) {
	// Nova's name filter is a regular expression of its database.
	found, _, err := n.list(ctx, url.Values{"name": {"^" + regexp.QuoteMeta(name) + "$"}})
	if err != nil {
		return nil, Wrap(err, "list servers named "+strconv.Quote(name))
	}
	var exact []Server
	for _, server := range found {
		if server.Name == name { // databases may compare without case
			exact = append(exact, server)
		}
	}
	return exact, nil
}

// ListServers lists all servers of the project, one request for each 1000. With
// ErrIncompleteList it still gives those that it found.
func (n *Nova) ListServers(ctx context.Context) ([]Server, error) {
	servers, version, err := n.list(ctx, url.Values{})
	if err != nil {
		return nil, Wrap(err, "list servers")
	}
	if version != completeLists {
		return servers, fmt.Errorf("list servers: %w: it needs microversion %s, and Nova answered with %s", ErrIncompleteList, completeLists, version)
	}
	for _, server := range servers {
		if server.Status == ServerUnknown {
			return servers, fmt.Errorf("list servers: %w: the cell of server %s is down", ErrIncompleteList, server.ID)
		}
	}
	return servers, nil
}

// list asks page after page, by the marker, and says with which microversion Nova
// answered; of several that of a page that is not complete. Nova's own limit may be lower than ours, so only its link tells of another page.
func (n *Nova) list(ctx context.Context, query url.Values) (all []Server, version string, err error) {
	query.Set("limit", strconv.Itoa(pageSize))
	for {
		var page struct {
			Servers []Server `json:"servers"`
			Links   []struct {
				Rel string `json:"rel"`
			} `json:"servers_links"`
		}
		took, err := n.get(ctx, "servers/detail?"+query.Encode(), &page)
		if err != nil {
			return nil, took, err
		}
		if version == "" || took != completeLists {
			version = took
		}
		if page.Servers == nil {
			return nil, version, errors.New("the answer has no servers")
		}
		for i := range page.Servers {
			if err := n.nameFlavor(ctx, &page.Servers[i]); err != nil {
				return nil, version, err
			}
		}
		all = append(all, page.Servers...)
		if len(page.Links) == 0 || len(page.Servers) == 0 {
			return all, version, nil
		}
		marker := all[len(all)-1].ID
		if marker == query.Get("marker") {
			return nil, version, fmt.Errorf("the service answers the page after %s again", marker)
		}
		query.Set("marker", marker)
	}
}

// get asks with the best microversion that the cloud accepts, and says with which
// Nova answered: an endpoint of the old API, or a gateway that drops the header, does
// not take the one that it was asked for, and refuses nothing.
func (n *Nova) get(ctx context.Context, path string, into any) (version string, err error) {
	shared, err := n.compute(ctx)
	if err != nil {
		return "", err
	}
	for {
		at := n.version.Load()
		client := *shared
		client.Type = "compute" // the catalog may know it by an alias
		client.Microversion = microversions()[at]
		resp, err := client.Get(ctx, client.ServiceURL(path), into, nil)
		if err == nil {
			return microversionOf(resp.Header), nil
		}
		if !gophercloud.ResponseCodeIs(err, http.StatusNotAcceptable) || client.Microversion == "" {
			return client.Microversion, err
		}
		n.version.CompareAndSwap(at, at+1)
	}
}

// oldMicroversion is what Nova answers with that knows no other.
const oldMicroversion = "2.1"

// microversionOf reads which microversion an answer is of (API guide,
// "Microversions"): "compute 2.69", or under Nova's own name for the header "2.69".
func microversionOf(header http.Header) string {
	for _, value := range header.Values("OpenStack-API-Version") {
		for entry := range strings.SplitSeq(value, ",") {
			if service, version, ok := strings.Cut(strings.TrimSpace(entry), " "); ok && service == "compute" {
				return version
			}
		}
	}
	if version := header.Get("X-OpenStack-Nova-API-Version"); version != "" {
		return version
	}
	return oldMicroversion
}

// nameFlavor fills in the flavor's name where the cloud embedded only its ID. A
// flavor that is gone leaves the name empty: the server outlives its flavor.
func (n *Nova) nameFlavor(ctx context.Context, server *Server) error {
	if server.FlavorName != "" || server.FlavorID == "" {
		return nil
	}
	if name, ok := n.flavorNames.Load(server.FlavorID); ok {
		server.FlavorName, _ = name.(string)
		return nil
	}
	var answer struct {
		Flavor struct {
			Name string `json:"name"`
		} `json:"flavor"`
	}
	_, err := n.get(ctx, "flavors/"+url.PathEscape(server.FlavorID), &answer)
	if err != nil && !isNovaNotFound(err) {
		return Wrap(err, "read flavor "+server.FlavorID)
	}
	n.flavorNames.Store(server.FlavorID, answer.Flavor.Name)
	server.FlavorName = answer.Flavor.Name
	return nil
}

// isNovaNotFound tells Nova's own 404 from any other: it has the fault
// "itemNotFound" in its body (nova/api/openstack/wsgi.py).
func isNovaNotFound(err error) bool {
	var unexpected gophercloud.ErrUnexpectedResponseCode
	if !errors.As(err, &unexpected) {
		return false
	}
	var fault struct {
		ItemNotFound *struct{} `json:"itemNotFound"`
	}
	return unexpected.Actual == http.StatusNotFound &&
		json.Unmarshal(unexpected.Body, &fault) == nil && fault.ItemNotFound != nil
}
