package keystone

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/internal/wire"
)

// unauthorizedMessage is Keystone's message for a failed sign-in of any cause.
const unauthorizedMessage = "The request you have made requires authentication."

// apiError is an answer in Keystone's error form.
type apiError struct {
	status  int
	message string
}

// Error implements error.
func (e *apiError) Error() string { return fmt.Sprintf("%d %s", e.status, e.message) }

func unauthorized() *apiError {
	return &apiError{status: http.StatusUnauthorized, message: unauthorizedMessage}
}

func notFound(format string, args ...any) *apiError {
	return &apiError{status: http.StatusNotFound, message: fmt.Sprintf(format, args...)}
}

// expecting is the refusal of a request that lacks something.
func expecting(what, where string) *apiError {
	return badRequest("Expecting to find %s in %s. The server could not comply with the request since it is either malformed or otherwise incorrect. The client is assumed to be in error.", what, where)
}

// forbidden is a refusal of Keystone's policy engine.
func forbidden(action string) *apiError {
	return &apiError{
		status:  http.StatusForbidden,
		message: "You are not authorized to perform the requested action: identity:" + action + ".",
	}
}

// noToken is the refusal of an invalid token.
func noToken(value string) *apiError {
	if len(value) != len(newID()) {
		return notFound("Could not recognize Fernet token")
	}
	return notFound("Could not find token: %s.", value)
}

func badRequest(format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, message: fmt.Sprintf(format, args...)}
}

// ServeHTTP answers the identity API. The path must start below the mount
// point (/v3/auth/tokens).
func (k *Keystone) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.handler.ServeHTTP(w, wire.Rooted(r))
}

func (k *Keystone) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		wire.WriteJSON(w, http.StatusMultipleChoices, map[string]any{
			"versions": map[string]any{"values": []any{versionBody(r)}},
		})
	})
	version := func(w http.ResponseWriter, r *http.Request) {
		wire.WriteJSON(w, http.StatusOK, map[string]any{"version": versionBody(r)})
	}
	mux.HandleFunc("GET /v3", version)
	mux.HandleFunc("GET /v3/{$}", version)
	mux.HandleFunc("POST /v3/auth/tokens", k.postToken)
	mux.HandleFunc("GET /v3/auth/tokens", k.getToken)
	mux.HandleFunc("DELETE /v3/auth/tokens", k.deleteToken)
	k.handleDirectory(mux)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, notFoundPage) // the client may be gone
	})
	return mux
}

// notFoundPage is the answer of Keystone's web framework.
const notFoundPage = `<!doctype html>
<html lang=en>
<title>404 Not Found</title>
<h1>Not Found</h1>
<p>The requested URL was not found on the server. If you entered the URL manually please check your spelling and try again.</p>
`

func versionBody(r *http.Request) map[string]any {
	return map[string]any{
		"id": "v3.14", "status": "stable", "updated": "2020-04-07T00:00:00Z",
		"links": []any{map[string]string{"rel": "self", "href": wire.Base(r) + "/v3/"}},
		"media-types": []any{map[string]string{
			"base": "application/json", "type": "application/vnd.openstack.identity-v3+json",
		}},
	}
}

// writeError answers in Keystone's own form, a 401 with the address to sign in at.
func (k *Keystone) writeError(w http.ResponseWriter, r *http.Request, refusal *apiError) {
	if refusal.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", fmt.Sprintf("Keystone uri=%q", wire.Base(r)+"/v3"))
	}
	wire.WriteJSON(w, refusal.status, map[string]any{"error": map[string]any{
		"code": refusal.status, "message": refusal.message, "title": http.StatusText(refusal.status),
	}})
}

func (k *Keystone) postToken(w http.ResponseWriter, r *http.Request) {
	var request authRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		k.writeError(w, r, expecting("valid JSON", "request body"))
		return
	}
	if request.Auth == nil {
		k.writeError(w, r, expecting("auth", "request body"))
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	t, refusal := k.signIn(*request.Auth)
	if refusal != nil {
		k.writeError(w, r, refusal)
		return
	}
	k.writeToken(w, r, http.StatusCreated, t)
}

// getToken validates the subject token; the mux sends HEAD here too.
func (k *Keystone) getToken(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, refusal := k.subject(r)
	if refusal != nil {
		k.writeError(w, r, refusal)
		return
	}
	k.writeToken(w, r, http.StatusOK, t)
}

func (k *Keystone) deleteToken(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, refusal := k.subject(r)
	if refusal != nil {
		k.writeError(w, r, refusal)
		return
	}
	delete(k.tokens, t.value)
	wire.WriteBody(w, http.StatusNoContent, nil)
}

// subject returns the token that a request is about. The caller holds the lock.
func (k *Keystone) subject(r *http.Request) (*token, *apiError) {
	if _, ok := k.valid(r.Header.Get("X-Auth-Token")); !ok {
		return nil, unauthorized()
	}
	value := r.Header.Get("X-Subject-Token")
	if value == "" {
		return nil, forbidden("validate_token")
	}
	t, ok := k.valid(value)
	if !ok {
		return nil, noToken(value)
	}
	return t, nil
}

func (k *Keystone) writeToken(w http.ResponseWriter, r *http.Request, status int, t *token) {
	w.Header().Set("X-Subject-Token", t.value)
	w.Header().Set("Vary", "X-Auth-Token")
	body := k.tokenBody(t)
	if t.projectID != "" && !r.URL.Query().Has("nocatalog") {
		body.Catalog = k.catalog(r)
	}
	wire.WriteJSON(w, status, map[string]any{"token": body})
}
