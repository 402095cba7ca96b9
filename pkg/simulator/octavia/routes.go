package octavia

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/simulator/keystone"
)

// call is one request below /v2.0/lbaas.
type call struct {
	caller keystone.Caller
	id     string // the object in the path
	child  string // the member in the path
	query  url.Values
	body   []byte
	url    string // without the query, for links
}

type handler func(*call) (response, *apiError)

type permission func(caller keystone.Caller, project string) *apiError

// resource is a collection with what can be done to it.
type resource struct {
	list, create      handler
	show, put, remove handler
	batch             handler
}

// ServeHTTP answers the API below the service's root. The caller comes from
// the request's context (keystone.WithCaller).
func (o *Octavia) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case parts[0] == "":
		writeJSON(w, http.StatusOK, o.versions(r))
		return
	case parts[0] == "healthcheck":
		writeJSON(w, http.StatusOK, view{"detailed": false, "reasons": []string{}})
		return
	case len(parts) == 1 && isMajor(parts[0]):
		writeJSON(w, http.StatusOK, "v2")
		return
	}
	text, failure := o.read(w, r)
	if failure != nil {
		o.write(w, r, response{}, failure)
		return
	}
	if text == nil {
		return
	}
	c := &call{caller: keystone.CallerFrom(r.Context()), query: r.URL.Query(), body: text, url: selfURL(r)}
	serve, failure := o.route(c, r.Method, parts)
	var answer response
	if failure == nil {
		o.locked(func() { answer, failure = serve(c) })
	}
	o.write(w, r, answer, failure)
}

func isMajor(part string) bool { return part == "v2.0" || part == "v2" }

// read takes the body in, up to the release's limit. It returns nil where it
// answered itself.
func (o *Octavia) read(w http.ResponseWriter, r *http.Request) ([]byte, *apiError) {
	source := io.Reader(r.Body)
	limit := o.release.BodyLimit
	if limit > 0 {
		source = http.MaxBytesReader(w, r.Body, int64(limit))
	}
	text, err := io.ReadAll(source)
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		writeText(w, http.StatusRequestEntityTooLarge, "413 Request Entity Too Large\n\n"+
			"The body of your request was too large for this server.\n\nRequest is too large. "+
			"Larger than max_request_body_size (114688).\n\n")
		return nil, nil
	}
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "Request is not in valid JSON format")
	}
	return append([]byte{}, text...), nil
}

// selfURL is the request's address as the client wrote it, without the query.
func selfURL(r *http.Request) string {
	path := r.URL.Path
	if original, err := url.ParseRequestURI(r.RequestURI); err == nil {
		path = original.Path
	}
	return "http://" + r.Host + strings.TrimSuffix(path, "/")
}

// route finds the handler of /v2.0/lbaas/<collection>[/<id>[/<what>[/<child>]]].
func (o *Octavia) route(c *call, method string, parts []string) (handler, *apiError) {
	if len(parts) < 3 || !isMajor(parts[0]) || parts[1] != "lbaas" {
		return nil, rawError(http.StatusNotFound, "")
	}
	kind, known := o.resources()[parts[2]]
	if !known {
		return nil, rawError(http.StatusNotFound, "")
	}
	rest := parts[3:]
	if len(rest) > 0 {
		c.id = rest[0]
	}
	switch {
	case len(rest) >= 2 && parts[2] == "pools" && rest[1] == "members":
		if len(rest) == 3 {
			c.child = rest[2]
		}
		return pick(o.members(), method, len(rest) == 3)
	case len(rest) == 2 && parts[2] == "loadbalancers":
		return o.balancerExtra(method, rest[1])
	case len(rest) > 1:
		return nil, rawError(http.StatusNotFound, "")
	}
	return pick(kind, method, len(rest) == 1)
}

func (o *Octavia) balancerExtra(method, what string) (handler, *apiError) {
	switch method + " " + what {
	case "GET status", "GET statuses":
		return o.statusTree, nil
	case "GET stats":
		return o.stats, nil
	case "PUT failover":
		return o.failover, nil
	}
	return nil, rawError(http.StatusNotFound, "")
}

func (o *Octavia) resources() map[string]resource {
	return map[string]resource{
		"loadbalancers": {
			list: o.listBalancers, create: o.createBalancer,
			show: o.showBalancer, put: o.updateBalancer, remove: o.deleteBalancer,
		},
		"listeners": {
			list: o.listListeners, create: o.createListener,
			show: o.showListener, put: o.updateListener, remove: o.deleteListener,
		},
		"pools": {
			list: o.listPools, create: o.createPool,
			show: o.showPool, put: o.updatePool, remove: o.deletePool,
		},
		"healthmonitors": {
			list: o.listMonitors, create: o.createMonitor,
			show: o.showMonitor, put: o.updateMonitor, remove: o.deleteMonitor,
		},
		"providers":         {list: o.listProviders},
		"flavors":           {list: emptyList("flavors")},
		"availabilityzones": {list: emptyList("availability_zones")},
		"l7policies":        {list: emptyList("l7policies"), show: noL7Policy},
	}
}

func (o *Octavia) members() resource {
	return resource{
		list: o.listMembers, create: o.createMember, batch: o.batchMembers,
		show: o.showMember, put: o.updateMember, remove: o.deleteMember,
	}
}

func emptyList(key string) handler {
	return func(*call) (response, *apiError) {
		return response{http.StatusOK, view{key: []view{}, key + "_links": []view{}}}, nil
	}
}

func noL7Policy(c *call) (response, *apiError) { return response{}, notFound("L7 Policy", c.id) }

func pick(kind resource, method string, one bool) (handler, *apiError) {
	byMethod := map[string]handler{http.MethodGet: kind.list, http.MethodPost: kind.create, http.MethodPut: kind.batch}
	if one {
		byMethod = map[string]handler{http.MethodGet: kind.show, http.MethodPut: kind.put, http.MethodDelete: kind.remove}
	}
	if serve := byMethod[method]; serve != nil {
		return serve, nil
	}
	return nil, rawError(http.StatusMethodNotAllowed, "")
}

func (o *Octavia) versions(r *http.Request) view {
	dates := versionDates()
	shown := make([]view, o.release.Minor+1)
	for minor := range shown {
		status := "SUPPORTED"
		if minor == o.release.Minor {
			status = "CURRENT"
		}
		shown[minor] = view{
			"id": currentMajorPrefix + strconv.Itoa(minor), "status": status, "updated": dates[minor],
			"links": []view{{"href": selfURL(r) + "/v2", "rel": "self"}},
		}
	}
	return view{"versions": shown}
}
