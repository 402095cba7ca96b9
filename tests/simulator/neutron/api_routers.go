package neutron

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

type routerUpdateRequest struct {
	Name        optional[string]      `json:"name" check:"text"`
	Description optional[string]      `json:"description" check:"text"`
	Routes      optional[[]hostRoute] `json:"routes"`
}

// routesRequest is the body of add_extraroutes and remove_extraroutes.
type routesRequest struct {
	Routes optional[[]hostRoute] `json:"routes"`
}

// routerFor is the router of the path, if the caller may see it.
func (n *Neutron) routerFor(c *call) (*router, error) {
	record, ok := n.routers.get(c.PathValue("id"))
	if !ok || !c.sees(record.ProjectID) {
		return nil, routerNotFound(c.PathValue("id"))
	}
	return record, nil
}

func (n *Neutron) listRouters(c *call) (int, any, error) {
	seen := visible(n.routers.all(), func(record *router) bool { return c.sees(record.ProjectID) })
	return list(n, c, "routers", seen, routerNotFound)
}

func (n *Neutron) showRouter(c *call) (int, any, error) {
	record, err := n.routerFor(c)
	if err != nil {
		return 0, nil, err
	}
	return show(c, "router", record)
}

// putRouter changes a router; routes replace all that it has (extraroute).
func (n *Neutron) putRouter(c *call) (int, any, error) {
	record, err := n.routerFor(c)
	if err != nil {
		return 0, nil, err
	}
	request, err := decode[routerUpdateRequest](c, "router", router{})
	if err != nil {
		return 0, nil, err
	}
	if err := matchRevision(c, record.standard); err != nil {
		return 0, nil, err
	}
	if request.Routes.present {
		if err := n.setRoutes(record, request.Routes.get()); err != nil {
			return 0, nil, err
		}
	}
	set(&record.Name, request.Name.value)
	set(&record.Description, request.Description.value)
	n.bump(&record.standard)
	return http.StatusOK, map[string]any{"router": record}, nil
}

// addRoutes adds those routes that the router does not have (extraroute-atomic).
func (n *Neutron) addRoutes(c *call) (int, any, error) {
	return n.changeRoutes(c, func(has, wanted []hostRoute) []hostRoute {
		for _, route := range wanted {
			if !slices.Contains(has, route) {
				has = append(has, route)
			}
		}
		return has
	})
}

// removeRoutes removes routes; those that the router does not have are ignored.
func (n *Neutron) removeRoutes(c *call) (int, any, error) {
	return n.changeRoutes(c, func(has, wanted []hostRoute) []hostRoute {
		return slices.DeleteFunc(has, func(route hostRoute) bool { return slices.Contains(wanted, route) })
	})
}

func (n *Neutron) changeRoutes(c *call, change func(has, wanted []hostRoute) []hostRoute) (int, any, error) {
	if !n.has("extraroute-atomic") {
		return 0, nil, noSuchPage("")
	}
	record, err := n.routerFor(c)
	if err != nil {
		return 0, nil, err
	}
	request, err := decode[routesRequest](c, "router", router{})
	if err != nil {
		// Neutron does not look, and fails.
		return 0, nil, fmt.Errorf("routes of router %s: %s", record.ID, err.Error())
	}
	changed := change(slices.Clone(record.Routes), request.Routes.get())
	if slices.Equal(changed, record.Routes) {
		return http.StatusOK, map[string]any{"router": record}, nil
	}
	if err := n.setRoutes(record, changed); err != nil {
		return 0, nil, err
	}
	n.bump(&record.standard)
	return http.StatusOK, map[string]any{"router": record}, nil
}

// setRoutes checks a whole new set of routes and stores it.
func (n *Neutron) setRoutes(record *router, routes []hostRoute) error {
	if err := n.checkQuota("router_route", record.ProjectID, len(routes)-len(record.Routes)); err != nil { // from 2026.2 on
		return err
	}
	if len(routes) > n.options.MaxRoutes {
		return badRequest("RoutesExhausted", "Unable to complete operation for %s. The number of routes exceeds the maximum %d.", record.ID, n.options.MaxRoutes)
	}
	for i, route := range routes {
		if _, err := netip.ParsePrefix(route.Destination); err != nil {
			return badRequest("AddrFormatError", "invalid IPNetwork %s", route.Destination)
		}
		if reason := n.routeFault(record, route); reason != "" {
			return badRequest("InvalidRoutes", "Invalid format for routes: %s, %s", routesText(routes), reason)
		}
		if slices.Contains(routes[:i], route) {
			return httpError(http.StatusBadRequest, "HTTPBadRequest", "Invalid input for routes. Reason: Duplicate hostroute '%s'.", route.text())
		}
	}
	record.Routes = append([]hostRoute{}, routes...)
	return nil
}

// routeFault returns the error of one route; empty if it is valid.
func (n *Neutron) routeFault(record *router, route hostRoute) string {
	nextHop, err := netip.ParseAddr(route.NextHop)
	if err != nil {
		return "the nexthop is not an IP address"
	}
	connected := false
	for _, user := range n.ports.all() {
		if user.DeviceID != record.ID {
			continue
		}
		for _, fixed := range user.FixedIPs {
			if fixed.Address == nextHop.String() {
				return "the nexthop is used by router"
			}
			inside, ok := n.subnets.get(fixed.SubnetID)
			connected = connected || (ok && inside.addresses.prefix.Contains(nextHop))
		}
	}
	if !connected {
		return "the nexthop is not connected with router"
	}
	return ""
}

func (r hostRoute) text() string {
	return "{'destination': '" + r.Destination + "', 'nexthop': '" + r.NextHop + "'}"
}

func routesText(routes []hostRoute) string {
	texts := make([]string, 0, len(routes))
	for _, route := range routes {
		texts = append(texts, route.text())
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
