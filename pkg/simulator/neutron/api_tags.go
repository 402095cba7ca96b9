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
	var unknown *Error
	switch c.PathValue("collection") {
	case "networks":
		found, unknown = standardOf(&n.networks, id), networkNotFound(id)
	case "subnets":
		found, unknown = standardOf(&n.subnets, id), subnetNotFound(id)
	case "routers":
		found, unknown = standardOf(&n.routers, id), routerNotFound(id)
	case "ports":
		found, unknown = standardOf(&n.ports, id), portNotFound(id)
	case "floatingips":
		found, unknown = standardOf(&n.floatingIPs, id), floatingIPNotFound(id)
	case "security-groups", "security_groups":
		found, unknown = standardOf(&n.securityGroups, id), securityGroupNotFound(id)
	default:
		return nil, httpError(http.StatusNotFound, "HTTPNotFound", "The resource could not be found.")
	}
	if found == nil || !c.sees(found.ProjectID) {
		return nil, unknown
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
	var request struct {
		Tags *[]string `json:"tags"`
	}
	if err := json.Unmarshal(c.body, &request); err != nil || request.Tags == nil {
		return 0, nil, httpError(http.StatusBadRequest, "HTTPBadRequest", "Invalid input for operation: tags is not a list.")
	}
	slices.Sort(*request.Tags)
	n.setTags(record, slices.Compact(*request.Tags))
	return http.StatusOK, map[string]any{"tags": record.Tags}, nil
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
	return http.StatusCreated, nil, nil
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
