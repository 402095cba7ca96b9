package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Step is a request with its recorded answer, or an event.
type Step struct {
	// Line of a sequence or position in an exchange, from 1.
	Line int
	// Event is "" for a request.
	Event              string
	LoadBalancer       string
	ProvisioningStatus string
	Statement          string
	Parameters         string

	Method, Path string
	// Roles of the caller, in a sequence; As is who called, in an exchange.
	Roles, As string
	Header    map[string]string
	Body      string // as sent; "" for none

	Status      int
	ContentType string
	Response    string
}

// Recording is a file of steps.
type Recording struct {
	// File is the path it was read from, Name its base without the extension.
	File, Name string
	// Exchange is set for a recorded exchange, not for a sequence.
	Exchange bool
	Steps    []Step
}

// Read reads a recording: an exchange if the file's name ends in .json, else a
// sequence.
func Read(path string) (Recording, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Recording{}, fmt.Errorf("read the recording: %w", err)
	}
	extension := filepath.Ext(path)
	recording := Recording{
		File: path, Name: strings.TrimSuffix(filepath.Base(path), extension), Exchange: extension == ".json",
	}
	if recording.Exchange {
		recording.Steps, err = parseExchange(text)
	} else {
		recording.Steps, err = parseSequence(text)
	}
	if err != nil {
		return Recording{}, fmt.Errorf("read the recording %s: %w", path, err)
	}
	return recording, nil
}

func parseSequence(text []byte) ([]Step, error) {
	var steps []Step
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for number := 1; lines.Scan(); number++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var line struct {
			Method, Path, Roles, Raw string
			Headers                  map[string]string
			Body                     json.RawMessage
			Status                   int
			ContentType              string `json:"content_type"`
			Response                 string
			Event, Statement         string
			LoadBalancer             string
			ProvisioningStatus       string `json:"provisioning_status"`
			Parameters               json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		step := Step{
			Line: number, Event: line.Event, Statement: line.Statement, Parameters: parameterText(line.Parameters),
			LoadBalancer: line.LoadBalancer, ProvisioningStatus: line.ProvisioningStatus,
			Method: line.Method, Path: line.Path, Roles: line.Roles, Header: line.Headers,
			Body: bodyText(line.Body) + line.Raw, Status: line.Status, ContentType: line.ContentType, Response: line.Response,
		}
		steps = append(steps, step)
	}
	return steps, lines.Err()
}

// bodyText is "" for null: nothing was sent.
func bodyText(body json.RawMessage) string {
	if string(body) == "null" {
		return ""
	}
	return string(body)
}

// parameterText takes a JSON string, or an array as its text.
func parameterText(parameters json.RawMessage) string {
	var text string
	if json.Unmarshal(parameters, &text) == nil {
		return text
	}
	return string(parameters)
}

func parseExchange(text []byte) ([]Step, error) {
	var entries []struct {
		Request *struct {
			Method, Path, As string
			JSON             json.RawMessage
			Headers          map[string]string
		}
		Response struct {
			Status  int
			Headers map[string]string
			JSON    json.RawMessage
			Text    string
		}
	}
	if err := json.Unmarshal(text, &entries); err != nil {
		return nil, err
	}
	var steps []Step
	for i, entry := range entries {
		if entry.Request == nil {
			continue // a note about something other than Octavia
		}
		contentType, _, _ := strings.Cut(entry.Response.Headers["Content-Type"], ";")
		answer := entry.Response.Text
		if len(entry.Response.JSON) > 0 {
			answer = bodyText(entry.Response.JSON)
		}
		steps = append(steps, Step{
			Line: i + 1, Method: entry.Request.Method, Path: entry.Request.Path, As: entry.Request.As,
			Header: entry.Request.Headers, Body: bodyText(entry.Request.JSON),
			Status: entry.Response.Status, ContentType: contentType, Response: answer,
		})
	}
	return steps, nil
}
