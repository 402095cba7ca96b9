package neutron

import (
	"encoding/json"
	"net/http"
	"slices"
)

// tagged is the record of a path /{collection}/{id}/tags, if the caller may
// change it.
func (n *Neutron) tagged(c *call) (*standard, error) {
	id := c.PathValue("id")
	var found *standard
	switch c.PathValue("collection") {
	case "networks":
		found = standardOf(&n.networks, id)
	case "subnets":
		found = standardOf(&n.subnets, id)
	case "routers":
		found = standardOf(&n.routers, id)
	case "ports":
		found = standardOf(&n.ports, id)
	case "floatingips":
		found = standardOf(&n.floatingIPs, id)
	case "security-groups", "security_groups":
		found = standardOf(&n.securityGroups, id)
	default:
		return nil, httpError(http.StatusNotFound, "HTTPNotFound", "The resource could not be found.")
	}
	if found == nil || !c.sees(found.ProjectID) {
		return nil, notFound("TagResourceNotFound", "Resource %s %s could not be found.", c.PathValue("collection"), id)
	}
	return found, nil
}

func standardOf[T interface{ base() *standard }](records *table[T], id string) *standard {
	record, ok := records.get(id)
	if !ok {
		return nil
	}
	return record.base()
}

func (s *standard) base() *standard { return s }

func (n *Neutron) showTags(c *call) (int, any, error) {
	record, err := n.tagged(c)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]any{"tags": record.Tags}, nil
}

func (n *Neutron) putTags(c *call) (int, any, error) {
	record, err := n.tagged(c)
	if err != nil {
		return 0, nil, err
	}
	tags, err := tagsOf(c.body)
	if err != nil {
		return 0, nil, err
	}
	sorted := slices.Sorted(slices.Values(tags))
	n.setTags(record, sorted)
	return http.StatusOK, map[string]any{"tags": tags}, nil
}

// tagsOf reads and checks {"tags": [...]}.
func tagsOf(body []byte) ([]string, error) {
	var envelope map[string]any
	if err := json.Unmarshal(body, &envelope); err != nil || envelope["tags"] == nil {
		return nil, invalidInput("Invalid tags body")
	}
	if why := eachOf(textReason)(envelope["tags"]); why != "" {
		return nil, invalidInput("%s", why)
	}
	tags := []string{}
	list, _ := envelope["tags"].([]any)
	for _, member := range list {
		tag, _ := member.(string)
		if slices.Contains(tags, tag) {
			return nil, invalidInput("Duplicate items in the list: '%s'", tag)
		}
		tags = append(tags, tag)
	}
	return tags, nil
}

func (n *Neutron) deleteTags(c *call) (int, any, error) {
	record, err := n.tagged(c)
	if err != nil {
		return 0, nil, err
	}
	n.setTags(record, nil)
	return http.StatusNoContent, nil, nil
}

func (n *Neutron) showTag(c *call) (int, any, error) {
	record, err := n.tagged(c)
	if err != nil {
		return 0, nil, err
	}
	if !slices.Contains(record.Tags, c.PathValue("tag")) {
		return 0, nil, tagNotFound(c)
	}
	return http.StatusNoContent, nil, nil
}

func (n *Neutron) putTag(c *call) (int, any, error) {
	record, err := n.tagged(c)
	if err != nil {
		return 0, nil, err
	}
	if tag := c.PathValue("tag"); !slices.Contains(record.Tags, tag) {
		n.setTags(record, append(record.Tags, tag))
	}
	return http.StatusCreated, null{}, nil
}

func (n *Neutron) deleteTag(c *call) (int, any, error) {
	record, err := n.tagged(c)
	if err != nil {
		return 0, nil, err
	}
	at := slices.Index(record.Tags, c.PathValue("tag"))
	if at < 0 {
		return 0, nil, tagNotFound(c)
	}
	n.setTags(record, slices.Delete(slices.Clone(record.Tags), at, at+1))
	return http.StatusNoContent, nil, nil
}

func tagNotFound(c *call) *Error {
	return notFound("TagNotFound", "Tag %s could not be found.", c.PathValue("tag"))
}

func (n *Neutron) setTags(record *standard, tags []string) {
	record.Tags = append([]string{}, tags...)
	n.bump(record)
}
