package octavia

import (
	"cmp"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
)

// call is one request below /v2.0.
type call struct {
	caller keystone.Caller
	id     string // the object in the path
	child  string // the member or rule in the path
	query  url.Values
	fields []string // those that the caller wants to see; nil means all
	page   page
	body   []byte
	url    string // without the query, for links
	update bool   // the request is a PUT
	row    *rowLock
	// missing is the name of the ID that a PUT lacks.
	missing string
}

type handler func(*call) (response, *apiError)

type permission func(caller keystone.Caller, project string) *apiError

// resource is a collection with what can be done to it.
type resource struct {
	list, create      handler
	show, put, remove handler
	batch             handler
	// putID and removeID are how the errors about a missing ID call it, "id"
	// when empty.
	putID, removeID string
	// whole is set if an object is always shown with all its fields.
	whole bool
	// parts are the resources below an object.
	parts map[string]resource
	// lookup finds the object before anything else is looked at, so that its
	// absence is an error of another form.
	lookup func(*call) *apiError
}

// ServeHTTP answers the API below the service's root. The caller comes from
// the request's context (keystone.WithCaller).
func (o *Octavia) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if parts[0] == "healthcheck" {
		healthcheck(w, r)
		return
	}
	if r.Method == http.MethodOptions && parts[0] != "" {
		w.WriteHeader(http.StatusOK)
		return
	}
	text, failure := o.read(w, r)
	if failure == nil && text == nil {
		return
	}
	c := &call{caller: keystone.CallerFrom(r.Context()), query: parseQuery(r.URL.RawQuery), body: text, url: selfURL(r), update: r.Method == http.MethodPut}
	c.fields = c.query["fields"]
	var answer response
	if failure == nil {
		answer, failure = o.answer(c, r, parts)
	}
	o.write(w, r, answer, failure)
}

// healthcheck answers that the service is healthy, in JSON if the client accepts it.
func healthcheck(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodHead:
		w.WriteHeader(http.StatusNoContent)
	case strings.Contains(r.Header.Get("Accept"), "application/json"):
		writeJSON(w, http.StatusOK, view{"detailed": false, "reasons": []string{}})
	default:
		writeText(w, http.StatusOK, "")
	}
}

func isMajor(part string) bool { return part == "v2.0" || part == "v2" }

func (o *Octavia) answer(c *call, r *http.Request, parts []string) (answer response, failure *apiError) {
	if parts[0] == "" {
		if !acceptsJSON(r) {
			return response{}, rawError(http.StatusNotAcceptable, "")
		}
		return response{http.StatusOK, o.versions(r)}, nil
	}
	serve, failure := o.route(c, r.Method, parts)
	switch {
	case failure != nil && failure.looked:
		return response{}, failure
	case !acceptsJSON(r):
		return response{}, rawError(http.StatusNotAcceptable, "")
	case failure != nil:
		return response{}, failure
	}
	if r.Method == http.MethodGet {
		if c.page, failure = o.page(c.query); failure != nil {
			return response{}, failure
		}
		o.reading(func() { answer, failure = serve(c) })
		return answer, failure
	}
	if failure := writable(c, r, parts); failure != nil {
		return response{}, failure
	}
	return o.serveChange(c, r, serve)
}

// writable refuses what no write takes: arguments in the query but for two,
// and bodies that are not JSON.
func writable(c *call, r *http.Request, parts []string) *apiError {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(c.query)), func(name string) bool {
		if r.Method == http.MethodDelete {
			return name == "cascade" && slices.Contains(parts, "loadbalancers")
		}
		return name == "additive_only" && parts[len(parts)-1] == "members"
	})
	if len(names) > 0 && !slices.Contains(parts, "octavia") {
		return refuse(http.StatusBadRequest, "Unknown argument: \"%s\"", names[0])
	}
	kinds, given := r.Header["Content-Type"]
	if !given || len(c.body) == 0 || r.Method == http.MethodDelete {
		return nil
	}
	kind, _, _ := strings.Cut(kinds[0], ";")
	switch kind = strings.TrimSpace(kind); kind {
	case "application/json", "text/javascript", "application/javascript":
		return nil
	case "application/x-www-form-urlencoded":
		return refuse(http.StatusBadRequest, "Unknown argument: \"%s\"", c.body)
	}
	return refuse(http.StatusUnsupportedMediaType, "Unknown mimetype: %s", kind)
}

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
	return "http://" + r.Host + path
}

// route finds the handler of /v2.0[/lbaas]/<collection>[/<id>[/<part>[/<child>]]].
func (o *Octavia) route(c *call, method string, parts []string) (handler, *apiError) {
	if !isMajor(parts[0]) {
		return nil, rawError(http.StatusNotFound, "")
	}
	parts = parts[1:]
	resources := o.resources()
	if len(parts) > 0 && (parts[0] == "lbaas" || parts[0] == "octavia") {
		if parts[0] == "octavia" {
			resources = map[string]resource{"amphorae": o.amphorae()}
		}
		parts = parts[1:]
	}
	if len(parts) == 0 && method != http.MethodGet {
		return nil, notAllowed(method)
	}
	if len(parts) == 0 {
		return func(*call) (response, *apiError) { return response{http.StatusOK, "v2"}, nil }, nil
	}
	// Pecan takes an extension of the last part for a content type.
	last := len(parts) - 1
	parts[last] = strings.TrimSuffix(parts[last], ".json")
	kind, known := resources[parts[0]]
	if !known {
		return nil, missing(method)
	}
	return kind.route(c, method, parts[1:])
}

// missing returns the error for an unknown path, which depends on the method.
func missing(method string) *apiError {
	if method == http.MethodGet {
		return rawError(http.StatusNotFound, "")
	}
	return notAllowed(method)
}

func notAllowed(method string) *apiError {
	failure := rawError(http.StatusMethodNotAllowed, "")
	failure.method = method
	return failure
}

func (kind resource) route(c *call, method string, rest []string) (handler, *apiError) {
	if len(rest) == 0 {
		return kind.pick(method, false)
	}
	if c.id == "" {
		c.id = rest[0]
	} else {
		c.child = rest[0]
	}
	if len(rest) == 1 {
		return kind.pick(method, true)
	}
	if part, known := kind.parts[rest[1]]; known {
		return part.below(c, method, rest[2:])
	}
	switch {
	case kind.show == nil || method != http.MethodGet:
		return nil, notAllowed(method)
	case kind.whole:
		return nil, missing(method)
	}
	c.fields = rest[1:] // Octavia takes the rest of the path for the fields to show
	return kind.pick(method, true)
}

// below routes requests for resources below an object, which must exist.
func (kind resource) below(c *call, method string, rest []string) (handler, *apiError) {
	if kind.lookup != nil {
		if failure := kind.lookup(c); failure != nil {
			failure.looked = true
			return nil, failure
		}
	}
	return kind.route(c, method, rest)
}

func (kind resource) pick(method string, one bool) (handler, *apiError) {
	switch method {
	case http.MethodGet:
		if serve := either(one, kind.show, kind.list); serve != nil {
			return serve, nil
		}
	case http.MethodPost:
		if kind.create != nil {
			return kind.create, nil
		}
	case http.MethodPut, http.MethodDelete:
		alone := map[string]handler{http.MethodPut: kind.put, http.MethodDelete: kind.remove}[method]
		switch {
		case one && alone != nil:
			return alone, nil
		case !one && method == http.MethodPut && kind.batch != nil:
			return kind.batch, nil
		case !one && alone != nil:
			identifier := map[string]string{http.MethodPut: kind.putID, http.MethodDelete: kind.removeID}[method]
			return withoutID(alone, method, cmp.Or(identifier, "id"))
		}
	}
	return nil, notAllowed(method)
}

// withoutID refuses a call that lacks the ID, after what the body is to blame
// for.
func withoutID(serve handler, method, identifier string) (handler, *apiError) {
	if method != http.MethodPut {
		return nil, refuse(http.StatusBadRequest, "Missing argument: %q", identifier)
	}
	return func(c *call) (response, *apiError) {
		c.missing = identifier
		return serve(c)
	}, nil
}

func either(one bool, show, list handler) handler {
	if one {
		return show
	}
	return list
}

// acceptsJSON reports whether the caller accepts JSON, as it does without an Accept
// header.
func acceptsJSON(r *http.Request) bool {
	accept := r.Header.Values("Accept")
	if len(accept) == 0 || strings.Join(accept, "") == "" {
		return true
	}
	return slices.ContainsFunc(strings.Split(strings.Join(accept, ","), ","), func(one string) bool {
		kind, _, _ := strings.Cut(strings.TrimSpace(one), ";")
		return slices.Contains([]string{"application/json", "application/*", "*/*"}, strings.TrimSpace(kind))
	})
}

// versions is the document at the root.
func (o *Octavia) versions(r *http.Request) view {
	dates := versionDates()
	shown := make([]view, o.release.Minor+1)
	for minor := range shown {
		status := "SUPPORTED"
		if minor == o.release.Minor {
			status = "CURRENT"
		}
		shown[minor] = view{
			"id": versionName(minor), "status": status, "updated": dates[minor],
			"links": []view{{"href": strings.TrimSuffix(selfURL(r), "/") + "/v2", "rel": "self"}},
		}
	}
	return view{"versions": shown}
}
