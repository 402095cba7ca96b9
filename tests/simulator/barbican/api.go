package barbican

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/google/uuid"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/internal/wire"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
)

// call is one request with its caller and body.
type call struct {
	*http.Request
	caller keystone.Caller
	body   []byte
}

// refusal is an answer in Barbican's error form.
type refusal struct {
	status      int
	description string
}

// Error implements error.
func (r *refusal) Error() string { return fmt.Sprintf("%d %s", r.status, r.description) }

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status: status, description: fmt.Sprintf(format, args...)}
}

// absent is the refusal for an object that does not exist; the noun is that of references to it.
func absent(kind, noun, id string) *refusal {
	if parsed, err := uuid.Parse(id); err != nil || parsed.Version() != 4 {
		return refuse(http.StatusNotFound, "Not Found. Provided %s id is invalid.", noun)
	}
	return refuse(http.StatusNotFound, "%s not found.", kind)
}

// forbidden is the refusal of an action, such as "Secret retrieval".
func forbidden(action string) *refusal {
	return refuse(http.StatusForbidden, "%s attempt not allowed - please review your user/project privileges", action)
}

// raw is a body that is no JSON.
type raw struct {
	contentType string
	text        []byte
}

type handler func(*call) (int, any, error)

func (b *Barbican) routes() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, h handler) { mux.Handle(pattern, b.handle(h)) }
	mux.HandleFunc("GET /{$}", versions(http.StatusMultipleChoices))
	mux.HandleFunc("GET /v1", versions(http.StatusOK))
	mux.HandleFunc("GET /v1/{$}", versions(http.StatusOK))
	for _, slash := range []string{"", "/{$}"} {
		handle("GET /v1/secrets"+slash, b.listSecrets)
		handle("POST /v1/secrets"+slash, b.postSecret)
		handle("GET /v1/containers"+slash, b.listContainers)
		handle("POST /v1/containers"+slash, b.postContainer)
	}
	handle("GET /v1/secrets/{id}", b.showSecret)
	handle("PUT /v1/secrets/{id}", b.putPayload)
	handle("DELETE /v1/secrets/{id}", b.deleteSecret)
	handle("GET /v1/secrets/{id}/payload", b.showPayload)
	handle("GET /v1/secrets/{id}/metadata", b.showLabels)
	handle("PUT /v1/secrets/{id}/metadata", b.putLabels)
	handle("GET /v1/containers/{id}", b.showContainer)
	handle("DELETE /v1/containers/{id}", b.deleteContainer)
	for _, collection := range []string{"secrets", "containers"} {
		at := "/v1/" + collection + "/{id}/"
		handle("GET "+at+"consumers", b.on(collection, "Consumers(s) retrieval", (*metadata).mayRead, b.listConsumers))
		handle("POST "+at+"consumers", b.on(collection, "Consumer creation", (*metadata).mayRead, b.postConsumer))
		handle("DELETE "+at+"consumers", b.on(collection, "Consumer deletion", (*metadata).mayRead, b.deleteConsumer))
		handle("GET "+at+"acl", b.on(collection, "ACL(s) retrieval", (*metadata).inProject, b.showAccess))
		handle("PUT "+at+"acl", b.on(collection, "ACL(s) Update", (*metadata).mayChange, b.putAccess))
		handle("PATCH "+at+"acl", b.on(collection, "ACL(s) Update", (*metadata).mayChange, b.patchAccess))
		handle("DELETE "+at+"acl", b.on(collection, "ACL(s) deletion", (*metadata).mayChange, b.deleteAccess))
	}
	handle("GET /v1/quotas", showQuotas)
	handle("/", func(*call) (int, any, error) {
		return 0, nil, refuse(http.StatusNotFound, "")
	})
	return mux
}

func versions(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		version := map[string]any{
			"id": "v1", "status": "stable",
			"links": []map[string]string{
				{"rel": "self", "href": wire.Base(r) + "/v1/"},
				{"rel": "describedby", "type": "text/html", "href": "https://docs.openstack.org/"},
			},
			"media-types": []map[string]string{{
				"base": "application/json", "type": "application/vnd.openstack.key-manager-v1+json",
			}},
		}
		if status == http.StatusOK {
			wire.WriteJSON(w, status, map[string]any{"version": version})
			return
		}
		wire.WriteJSON(w, status, map[string]any{"versions": map[string]any{"values": []any{version}}})
	}
}

// handle turns a handler, which is called with the lock held, into one for HTTP.
func (b *Barbican) handle(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client went away
		}
		status, answer, err := b.answer(h, &call{Request: r, caller: keystone.CallerFrom(r.Context()), body: body})
		if err != nil {
			unexpected := refuse(http.StatusInternalServerError, "Internal Server Error")
			errors.As(err, &unexpected)
			status, answer = unexpected.status, map[string]any{
				"code": unexpected.status, "title": http.StatusText(unexpected.status), "description": unexpected.description,
			}
		}
		switch answer := answer.(type) {
		case nil:
			wire.WriteBody(w, status, nil)
		case raw:
			w.Header().Set("Content-Type", answer.contentType)
			wire.WriteBody(w, status, answer.text)
		default:
			wire.WriteJSON(w, status, answer)
		}
	})
}

func (b *Barbican) answer(h handler, c *call) (int, any, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return h(c)
}

// decode reads a JSON body.
func (c *call) decode(into any) error {
	if err := json.Unmarshal(c.body, into); err != nil {
		return refuse(http.StatusBadRequest, "Malformed JSON")
	}
	return nil
}

// listed is a page of a collection: limit is 10 unless given, 100 at most.
func listed(c *call, collection string, all []any) (int, any, error) {
	query := c.URL.Query()
	limit, offset := number(query, "limit", 10), number(query, "offset", 0)
	limit = min(limit, 100)
	from := min(offset, len(all))
	to := min(from+limit, len(all))
	body := map[string]any{collection: all[from:to], "total": len(all)}
	if to < len(all) {
		body["next"] = pageURL(c, limit, to)
	}
	if from > 0 {
		body["previous"] = pageURL(c, limit, max(from-limit, 0))
	}
	return http.StatusOK, body, nil
}

func number(query url.Values, key string, otherwise int) int {
	if value, err := strconv.Atoi(query.Get(key)); err == nil && value >= 0 {
		return value
	}
	return otherwise
}

func pageURL(c *call, limit, offset int) string {
	return fmt.Sprintf("%s?limit=%d&offset=%d", wire.Self(c.Request), limit, offset)
}

func showQuotas(*call) (int, any, error) {
	return http.StatusOK, map[string]any{"quotas": map[string]int{
		"secrets": -1, "orders": -1, "containers": -1, "consumers": -1, "cas": -1,
	}}, nil
}

// reference is the URL of an object, which is its name everywhere.
func (c *call) reference(collection, id string) string {
	return wire.Base(c.Request) + "/v1/" + collection + "/" + id
}

// timeFormat is how Barbican writes times: UTC without a zone.
const timeFormat = "2006-01-02T15:04:05.000000"
