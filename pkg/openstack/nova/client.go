package nova

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

// ErrServerNotFound reports that Nova itself answered 404 for a server: the token was accepted, and
// the project has no such server. A 404 of a proxy or of a wrong endpoint is a different error.
var ErrServerNotFound = errors.New("no such server")

// Session provides the connection of a Client.
type Session interface {
	// Compute returns a client of the compute API, version 2.1.
	Compute(ctx context.Context) (*gophercloud.ServiceClient, error)
}

// Client reads servers. It caches the microversion that the cloud accepts and the names of flavors,
// so use one for the life of the session. All methods are safe for concurrent use. Errors are those
// of apierror.Wrap.
type Client struct {
	session Session
	// version indexes microversions: the newest one that the cloud may accept.
	version atomic.Int32
	// flavorNames by ID, for clouds older than 2.47. A flavor cannot be renamed.
	flavorNames sync.Map
}

// New returns a client for a session.
func New(session Session) *Client { return &Client{session: session} }

// pageSize is the number of servers in a page of a list: the default of Nova's max_limit.
const pageSize = 1000

// microversions are the requested ones, in order of preference: 2.69 (Stein) lists servers of cells
// that are down, 2.47 (Pike) embeds the flavor's name; the last is Nova's default.
func microversions() []string { return []string{"2.69", "2.47", ""} }

// GetServer reads one server of the project. It returns ErrServerNotFound only if Nova itself
// answers that the server does not exist.
func (c *Client) GetServer(ctx context.Context, id string) (*Server, error) {
	var answer struct {
		Server Server `json:"server"`
	}
	path, err := rest.PathOf("servers", id)
	if err == nil {
		err = c.get(ctx, path, &answer)
	}
	if err != nil {
		wrapped := apierror.Wrap(err, "read server "+id)
		if isNovaNotFound(err) {
			return nil, fmt.Errorf("%w: %w", ErrServerNotFound, wrapped)
		}
		return nil, wrapped
	}
	if err := rest.CheckAbout(id, answer.Server.ID); err != nil {
		return nil, fmt.Errorf("read server %s: %w", id, err)
	}
	if err := c.nameFlavor(ctx, &answer.Server); err != nil {
		return nil, err
	}
	return &answer.Server, nil
}

// FlavorID returns the ID of a server's flavor, which only microversions before 2.47 return.
func (c *Client) FlavorID(ctx context.Context, serverID string) (string, error) {
	var answer struct {
		Server Server `json:"server"`
	}
	path, err := rest.PathOf("servers", serverID)
	if err == nil {
		err = c.ask(ctx, "", path, &answer)
	}
	if err == nil {
		err = rest.CheckAbout(serverID, answer.Server.ID)
	}
	if err != nil {
		return "", apierror.Wrap(err, "read the flavor of server "+serverID)
	}
	if answer.Server.FlavorID == "" {
		return "", fmt.Errorf("read the flavor of server %s: the answer names none", serverID)
	}
	return answer.Server.FlavorID, nil
}

// ServersByName lists the servers of the project with exactly this name, without those of a cell
// that is down.
func (c *Client) ServersByName(ctx context.Context, name string) ([]Server, error) {
	// Nova's name filter is a regular expression of its database.
	found, err := c.list(ctx, url.Values{"name": {"^" + regexp.QuoteMeta(name) + "$"}})
	if err != nil {
		return nil, apierror.Wrap(err, "list servers named "+strconv.Quote(name))
	}
	var exact []Server
	for _, server := range found {
		if server.Name == name { // databases may ignore case
			exact = append(exact, server)
		}
	}
	return exact, nil
}

// Servers lists the servers of the project. Clouds older than Stein omit the servers of a cell that
// is down.
func (c *Client) Servers(ctx context.Context) ([]Server, error) {
	found, err := c.list(ctx, url.Values{})
	return found, apierror.Wrap(err, "list servers")
}

// list reads all pages. Nova's page size may be lower than ours, so that only its link shows
// whether another page follows.
func (c *Client) list(ctx context.Context, query url.Values) (all []Server, err error) {
	query.Set("limit", strconv.Itoa(pageSize))
	var markers rest.Markers
	for {
		var page struct {
			Servers []Server `json:"servers"`
			Links   []struct {
				Rel string `json:"rel"`
			} `json:"servers_links"`
		}
		if err := c.get(ctx, "servers/detail?"+query.Encode(), &page); err != nil {
			return nil, err
		}
		if page.Servers == nil {
			return nil, errors.New("the answer has no servers")
		}
		for i := range page.Servers {
			if err := c.nameFlavor(ctx, &page.Servers[i]); err != nil {
				return nil, err
			}
		}
		all = append(all, page.Servers...)
		if len(page.Links) == 0 || len(page.Servers) == 0 {
			return all, nil
		}
		marker := all[len(all)-1].ID
		if err := markers.Next(marker, len(all)); err != nil {
			return nil, err
		}
		query.Set("marker", marker)
	}
}

// get uses the newest microversion that the cloud accepts.
func (c *Client) get(ctx context.Context, path string, into any) error {
	for {
		at := c.version.Load()
		microversion := microversions()[at]
		err := c.ask(ctx, microversion, path, into)
		if !gophercloud.ResponseCodeIs(err, http.StatusNotAcceptable) || microversion == "" {
			return err
		}
		c.version.CompareAndSwap(at, at+1)
	}
}

// ask uses a microversion; "" is Nova's default.
func (c *Client) ask(ctx context.Context, microversion, path string, into any) error {
	shared, err := c.session.Compute(ctx)
	if err != nil {
		return err
	}
	client := *shared
	client.Type = "compute" // the catalog may have an alias
	client.Microversion = microversion
	return rest.Get(ctx, &client, client.ServiceURL(path), into)
}

// nameFlavor sets the flavor's name if the cloud embeds only its ID. The name stays empty if the
// flavor was deleted.
func (c *Client) nameFlavor(ctx context.Context, server *Server) error {
	if server.FlavorName != "" || server.FlavorID == "" {
		return nil
	}
	if name, ok := c.flavorNames.Load(server.FlavorID); ok {
		server.FlavorName, _ = name.(string)
		return nil
	}
	var answer struct {
		Flavor struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"flavor"`
	}
	path, err := rest.PathOf("flavors", server.FlavorID)
	if err == nil {
		err = c.get(ctx, path, &answer)
	}
	if err == nil {
		err = rest.CheckAbout(server.FlavorID, answer.Flavor.ID)
	}
	if err != nil && !isNovaNotFound(err) {
		return apierror.Wrap(err, "read flavor "+server.FlavorID)
	}
	c.flavorNames.Store(server.FlavorID, answer.Flavor.Name)
	server.FlavorName = answer.Flavor.Name
	return nil
}

// isNovaNotFound reports whether an error is Nova's own 404: its body has the fault "itemNotFound"
// (nova/api/openstack/wsgi.py).
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

// First reads one server, to check whether the user may read servers.
func (c *Client) First(ctx context.Context) error {
	return apierror.Wrap(c.get(ctx, "servers/detail?limit=1", nil), "list servers")
}
