package octavia

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// apiError is a refusal. Handlers return it; respond writes it.
type apiError struct {
	status int
	text   string
	// raw errors are raised outside of the typed layer: they have another
	// body, and are plain text in old releases.
	raw bool
	// method, where set, is one that the resource does not have.
	method string
	// looked is set if the error occurred during the resolution of the path, before the
	// accepted content type was known.
	looked bool
	// conversion is set if a value of a request could not be read, so that the error is
	// about the whole request.
	conversion bool
	// waits is no error: the call goes on when it has the project's quota row.
	waits bool
}

func (e *apiError) Error() string { return e.text }

func refuse(status int, format string, arguments ...any) *apiError {
	return &apiError{status: status, text: fmt.Sprintf(format, arguments...)}
}

func invalid(format string, arguments ...any) *apiError {
	return refuse(http.StatusBadRequest, "Validation failure: "+format, arguments...)
}

func rawError(status int, text string) *apiError {
	return &apiError{status: status, text: text, raw: true}
}

func notFound(kind, id string) *apiError {
	id = cmp.Or(id, "None")
	return refuse(http.StatusNotFound, "%s %s not found.", kind, id)
}

func forbidden() *apiError {
	return refuse(http.StatusForbidden, "Policy does not allow this request to be performed.")
}

func immutable(kind, id string) *apiError {
	return refuse(http.StatusConflict, "%s %s is immutable and cannot be updated.", kind, id)
}

func invalidState(lb *LoadBalancer) *apiError {
	return refuse(http.StatusConflict, "Invalid state %s of loadbalancer resource %s", lb.ProvisioningStatus, lb.ID)
}

func unsupportedOption(provider, format string, arguments ...any) *apiError {
	return refuse(http.StatusNotImplemented, "Provider '%s' does not support a requested option: %s",
		provider, fmt.Sprintf(format, arguments...))
}

func unsupportedAction(provider, text string) *apiError {
	return refuse(http.StatusNotImplemented, "Provider '%s' does not support a requested action: %s", provider, text)
}

func providerError(provider, text string) *apiError {
	return refuse(http.StatusInternalServerError, "Provider '%s' reports error: %s", provider, text)
}

func badArguments() *apiError {
	return refuse(http.StatusBadRequest, "One or more arguments are either duplicate or invalid")
}

// response is what a handler answers: the value is sent as JSON unless nil.
type response struct {
	status int
	value  any
}

func (o *Octavia) write(w http.ResponseWriter, r *http.Request, answer response, failure *apiError) {
	w.Header().Set("X-Openstack-Request-Id", "req-"+uuid.NewString())
	switch {
	case failure == nil && answer.value == nil:
		w.WriteHeader(answer.status)
	case failure == nil:
		writeJSON(w, answer.status, answer.value)
	case !failure.raw:
		code := "Client"
		if failure.status >= http.StatusInternalServerError {
			code = "Server"
		}
		writeJSON(w, failure.status, map[string]any{
			"faultcode": code, "faultstring": failure.text, "debuginfo": nil,
		})
	default:
		o.writeRaw(w, r, failure)
	}
}

// writeRaw writes an error of the web framework in the form that the caller
// accepts.
func (o *Octavia) writeRaw(w http.ResponseWriter, r *http.Request, failure *apiError) {
	accept := r.Header.Get("Accept")
	first, _, _ := strings.Cut(accept, ",")
	first, _, _ = strings.Cut(strings.TrimSpace(first), ";")
	switch {
	case r.Method == http.MethodHead:
		w.Header().Set("Content-Type", "text/html; charset=UTF-8")
		w.WriteHeader(failure.status)
	case !o.release.TextErrors, accept == "application/json":
		writeJSON(w, failure.status, map[string]any{
			"code": failure.status, "title": failure.title(), "description": failure.text,
		})
	case strings.Contains(accept, "*/*"), strings.Contains(accept, "text/html"):
		w.Header().Set("Content-Type", "text/html; charset=UTF-8")
		w.WriteHeader(failure.status)
		_, _ = w.Write([]byte(failure.html(first)))
	default:
		writeText(w, failure.status, failure.plain(first))
	}
}

// title of a raw error. An object that is missing while the path is still
// being resolved keeps the title "Bad Request".
func (e *apiError) title() string {
	if e.status == http.StatusNotFound && e.text != "" {
		return http.StatusText(http.StatusBadRequest)
	}
	return http.StatusText(e.status)
}

// explanation of a raw error; accepted is the content type asked for.
func (e *apiError) explanation() string {
	switch {
	case e.status == http.StatusMethodNotAllowed:
		return "The method " + e.method + " is not allowed for this resource. "
	case e.title() == http.StatusText(http.StatusNotFound):
		return "The resource could not be found."
	}
	return "The server could not comply with the request since it is either malformed or otherwise incorrect."
}

func (e *apiError) plain(accepted string) string {
	switch e.status {
	case http.StatusNotAcceptable:
		return "406 Not Acceptable\n\nThe resource could not be generated that was acceptable to your browser (content of type " +
			accepted + ". \n\n "
	case http.StatusMethodNotAllowed:
		return fmt.Sprintf("%d %s\n\n%s\n\n ", e.status, e.title(), e.explanation())
	}
	return fmt.Sprintf("%d %s\n\n%s\n\n %s  ", e.status, e.title(), e.explanation(), e.text)
}

func (e *apiError) html(accepted string) string {
	body := e.explanation() + "<br /><br />\n" + html.EscapeString(e.text) + "\n"
	if e.status == http.StatusNotAcceptable {
		body = "The resource could not be generated that was acceptable to your browser\n(content of type " +
			html.EscapeString(accepted) + ". <br /><br />"
	}
	if e.status == http.StatusMethodNotAllowed {
		body = e.explanation() + "<br /><br />"
	}
	body = strings.ReplaceAll(body, "&#39;", "&#x27;")
	head := fmt.Sprintf("%d %s", e.status, e.title())
	return "<html>\n <head>\n  <title>" + head + "</title>\n </head>\n <body>\n  <h1>" + head + "</h1>\n  " +
		body + "\n\n </body>\n</html>"
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("octavia: answer cannot be JSON: %v", err))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may be gone, which is its business
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}
