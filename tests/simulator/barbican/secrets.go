package barbican

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

type secretRequest struct {
	Name            *string `json:"name"`
	Expiration      *string `json:"expiration"`
	Algorithm       *string `json:"algorithm"`
	BitLength       *int    `json:"bit_length"`
	Mode            *string `json:"mode"`
	SecretType      string  `json:"secret_type"`
	Payload         *string `json:"payload"`
	PayloadType     string  `json:"payload_content_type"`
	PayloadEncoding string  `json:"payload_content_encoding"`
}

func secretTypes() []string {
	return []string{"symmetric", "passphrase", "private", "public", "certificate", "opaque"}
}

// secretFor returns the secret of the path if the caller has the right to an action. For one of another
// project it returns 403, as Barbican does.
func (b *Barbican) secretFor(c *call, action string, may right) (*secret, error) {
	found := b.secret(c.PathValue("id"))
	if found == nil {
		return nil, absent("Secret", "secret", c.PathValue("id"))
	}
	if !may(&found.metadata, c.caller) {
		return nil, forbidden(action)
	}
	return found, nil
}

func (b *Barbican) postSecret(c *call) (int, any, error) {
	var request secretRequest
	if err := c.decode(&request); err != nil {
		return 0, nil, err
	}
	if request.SecretType == "" {
		request.SecretType = "opaque"
	}
	if !slices.Contains(secretTypes(), request.SecretType) {
		return 0, nil, refuse(http.StatusBadRequest, "Provided object does not match schema 'Secret': '%s' is not one of %s. Invalid property: 'secret_type'", request.SecretType, "['"+strings.Join(secretTypes(), "', '")+"']")
	}
	made := &secret{
		metadata: b.newMetadata(valueOf(request.Name), c.caller.ProjectID, c.caller.UserID), kind: request.SecretType,
		algorithm: valueOf(request.Algorithm), mode: valueOf(request.Mode), bits: valueOf(request.BitLength),
		expiration: request.Expiration,
	}
	if request.Payload != nil {
		payload, err := request.payload()
		if err != nil {
			return 0, nil, err
		}
		made.payload, made.contentType = payload, mediaType(request.PayloadType)
	}
	if made.name == "" {
		made.name = made.id // Barbican's own choice
	}
	b.secrets = append(b.secrets, made)
	return http.StatusCreated, map[string]any{"secret_ref": c.reference("secrets", made.id)}, nil
}

func (r secretRequest) payload() ([]byte, error) {
	switch {
	case *r.Payload == "":
		return nil, refuse(http.StatusBadRequest, "Provided object does not match schema 'Secret': If 'payload' specified, must be non empty. Invalid property: 'payload'")
	case r.PayloadType == "":
		return nil, refuse(http.StatusBadRequest, "Provided object does not match schema 'Secret': If 'payload' is supplied, 'payload_content_type' must also be supplied.. Invalid property: 'payload_content_type'")
	case r.PayloadEncoding == "base64":
		payload, _ := base64.StdEncoding.DecodeString(*r.Payload) // as Python, which accepts the rest of what is not base64
		return payload, nil
	case mediaType(r.PayloadType) == octets:
		return nil, refuse(http.StatusBadRequest, "Provided object does not match schema 'Secret': payload_content_encoding is not one of ['base64', 'binary']. Invalid property: 'payload_content_encoding'")
	}
	return []byte(*r.Payload), nil
}

func (b *Barbican) listSecrets(c *call) (int, any, error) {
	query := c.URL.Query()
	shown := []any{}
	for _, stored := range b.secrets {
		if stored.projectID == c.caller.ProjectID && matches(query.Get("name"), stored.name) &&
			matches(query.Get("secret_type"), stored.kind) && matches(query.Get("alg"), stored.algorithm) {
			shown = append(shown, stored.body(c))
		}
	}
	return listed(c, "secrets", shown)
}

func matches(wanted, value string) bool { return wanted == "" || wanted == value }

const (
	// octets is the content type of bytes.
	octets = "application/octet-stream"
	// retrieval is the right to the metadata of a secret.
	retrieval = "Secret retrieval"
)

// showSecret returns the metadata of a secret. If the request accepts another type than JSON, it
// returns the payload, which old clients request in this way.
func (b *Barbican) showSecret(c *call) (int, any, error) {
	accept := c.Header.Get("Accept")
	if accept != "" && accept != "*/*" && !strings.Contains(accept, "json") {
		return b.answerPayload(c, retrieval)
	}
	found, err := b.secretFor(c, retrieval, (*metadata).mayRead)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, found.body(c), nil
}

func (b *Barbican) showPayload(c *call) (int, any, error) {
	return b.answerPayload(c, "Secret payload retrieval")
}

func (b *Barbican) answerPayload(c *call, action string) (int, any, error) {
	found, err := b.secretFor(c, action, (*metadata).mayRead)
	if err != nil {
		return 0, nil, err
	}
	if found.payload == nil {
		return 0, nil, refuse(http.StatusNotFound, "Not Found. Sorry but your secret has no payload.")
	}
	contentType, acceptable := found.as(mediaType(c.Header.Get("Accept")))
	if !acceptable {
		return 0, nil, refuse(http.StatusNotAcceptable, "Secret payload retrieval issue seen - Wrong payload content-type.")
	}
	return http.StatusOK, raw{contentType: contentType, text: found.payload}, nil
}

// as returns the content type of a payload in an answer: the requested one, which may be bytes, or
// text if the payload is text.
func (s *secret) as(accept string) (contentType string, acceptable bool) {
	switch {
	case accept == "" || strings.Contains(accept, octets):
		return octets, true
	case strings.Contains(accept, "*/*"):
		return accept, true
	case strings.Contains(accept, "text/plain"):
		return "text/plain; charset=UTF-8", utf8.Valid(s.payload)
	}
	return "", false
}

// putPayload adds the payload of a secret that was created without one.
func (b *Barbican) putPayload(c *call) (int, any, error) {
	found, err := b.secretFor(c, "Secret update", (*metadata).inProject)
	if err != nil {
		return 0, nil, err
	}
	if found.payload != nil {
		return 0, nil, refuse(http.StatusConflict, "Secret already has data, cannot modify it.")
	}
	if len(c.body) == 0 {
		return 0, nil, refuse(http.StatusBadRequest, "No data supplied to process.")
	}
	found.payload, found.contentType = c.body, mediaType(c.Header.Get("Content-Type"))
	found.updated = b.clock.Now().UTC()
	return http.StatusNoContent, nil, nil
}

// mediaType is a content type without the character set that Barbican cuts off.
func mediaType(contentType string) string {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// deleteSecret deletes a secret, also from the containers that it is in.
func (b *Barbican) deleteSecret(c *call) (int, any, error) {
	found, err := b.secretFor(c, "Secret deletion", (*metadata).mayChange)
	if err != nil {
		return 0, nil, err
	}
	b.removeSecret(found.id)
	return http.StatusNoContent, nil, nil
}

func (b *Barbican) removeSecret(id string) {
	b.secrets = slices.DeleteFunc(b.secrets, func(other *secret) bool { return other.id == id })
	for _, holder := range b.containers {
		holder.secrets = slices.DeleteFunc(holder.secrets, func(inside secretReference) bool { return lastElement(inside.SecretRef) == id })
	}
}

func (b *Barbican) showLabels(c *call) (int, any, error) {
	found, err := b.secretFor(c, "Secret metadata retrieval", (*metadata).mayRead)
	if err != nil {
		return 0, nil, err
	}
	labels := found.labels
	if labels == nil {
		labels = map[string]string{}
	}
	return http.StatusOK, map[string]any{"metadata": labels}, nil
}

func (b *Barbican) putLabels(c *call) (int, any, error) {
	found, err := b.secretFor(c, "Secret metadata creation", (*metadata).mayChange)
	if err != nil {
		return 0, nil, err
	}
	var request struct {
		Metadata map[string]string `json:"metadata"`
	}
	if err := c.decode(&request); err != nil {
		return 0, nil, err
	}
	found.labels = request.Metadata
	return http.StatusCreated, map[string]any{"metadata_ref": c.reference("secrets", found.id) + "/metadata"}, nil
}

func (s *secret) body(c *call) map[string]any {
	body := map[string]any{
		"name": s.name, "secret_type": s.kind, "status": "ACTIVE", "creator_id": s.creatorID,
		"created": s.created.Format(timeFormat), "updated": s.updated.Format(timeFormat), "expiration": s.expiration,
		"algorithm": orNull(s.algorithm), "bit_length": orNull(s.bits), "mode": orNull(s.mode),
		"secret_ref": c.reference("secrets", s.id),
	}
	if s.payload != nil {
		body["content_types"] = map[string]string{"default": s.contentType}
	}
	return body
}

// orNull returns nil, which is Barbican's null, for the zero value.
func orNull[T comparable](value T) any {
	var zero T
	if value == zero {
		return nil
	}
	return value
}

func valueOf[T any](pointer *T) T {
	if pointer == nil {
		var zero T
		return zero
	}
	return *pointer
}
