package octavia

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Activate sets all objects that are being created or changed to ACTIVE at once, and drops
// unfinished work. Objects that are being deleted stay unchanged.
func (o *Octavia) Activate() {
	o.locked(func() {
		for _, lb := range o.balancers {
			o.forget(lb)
			for _, thing := range append(children(lb), lb) {
				if status := &thing.meta().ProvisioningStatus; *status == PendingCreate || *status == PendingUpdate {
					*status = Active
				}
			}
		}
		o.dirty = true
	})
}

// Execute changes the state as a statement on Octavia's own database would:
//
//	update TABLE set COLUMN = VALUE [, …] [where COLUMN = VALUE [and …]]
//	delete from TABLE [where …]
//
// Tables are load_balancer, listener, pool, member, health_monitor, l7policy
// and l7rule; columns that can be set are provisioning_status,
// operating_status, name and enabled. A value is a quoted text, a number or ?
// for the next of the parameters. Work that is under way on the load balancers
// is forgotten.
func (o *Octavia) Execute(statement string, parameters ...string) error {
	parsed, err := parseStatement(statement, parameters)
	if err != nil {
		return fmt.Errorf("execute %q: %w", statement, err)
	}
	o.locked(func() {
		for _, lb := range slices.Clone(o.balancers) {
			for _, thing := range append(children(lb), lb) {
				if tableOf(thing) != parsed.table || !o.selects(parsed.where, thing) {
					continue
				}
				o.forget(lb)
				o.dirty = true
				if parsed.remove {
					o.erase(lb, thing)
				} else {
					edit(thing.meta(), parsed.set)
				}
			}
		}
	})
	return nil
}

type statement struct {
	table      string
	remove     bool
	set, where []assignment
}

type assignment struct{ column, value string }

func parseStatement(text string, parameters []string) (statement, error) {
	text = strings.Join(strings.Fields(strings.TrimSuffix(strings.TrimSpace(text), ";")), " ")
	shape := regexp.MustCompile(`(?i)^(?:update (\w+) set (.+?)|delete from (\w+))(?: where (.+))?$`)
	parts := shape.FindStringSubmatch(text)
	if parts == nil {
		return statement{}, fmt.Errorf("neither an update nor a deletion")
	}
	parsed := statement{table: strings.ToLower(parts[1] + parts[3]), remove: parts[3] != ""}
	next := func(value string) (string, error) {
		value = strings.TrimSpace(value)
		if value != "?" && value != "%s" {
			return strings.Trim(value, `'"`), nil
		}
		if len(parameters) == 0 {
			return "", fmt.Errorf("too few parameters")
		}
		value, parameters = parameters[0], parameters[1:]
		return value, nil
	}
	for _, part := range []struct {
		text, separator string
		into            *[]assignment
	}{{parts[2], `,`, &parsed.set}, {parts[4], `(?i) and `, &parsed.where}} {
		if part.text == "" {
			continue
		}
		for _, piece := range regexp.MustCompile(part.separator).Split(part.text, -1) {
			column, value, is := strings.Cut(piece, "=")
			if !is {
				return statement{}, fmt.Errorf("%q is no comparison", piece)
			}
			read, err := next(value)
			if err != nil {
				return statement{}, err
			}
			*part.into = append(*part.into, assignment{strings.ToLower(strings.TrimSpace(column)), read})
		}
	}
	return parsed, nil
}

func tableOf(thing object) string {
	switch thing.(type) {
	case *LoadBalancer:
		return "load_balancer"
	case *Listener:
		return "listener"
	case *Pool:
		return "pool"
	case *Member:
		return "member"
	case *Monitor:
		return "health_monitor"
	case *L7Policy:
		return "l7policy"
	default:
		return "l7rule"
	}
}

// selects compares with the columns that lists can be filtered by.
func (o *Octavia) selects(where []assignment, thing object) bool {
	for _, condition := range where {
		for _, t := range o.tables {
			if t.sql != tableOf(thing) {
				continue
			}
			column, known := t.columns[condition.column]
			if !known || !(filter{column: column, wanted: condition.value}).holds(thing) {
				return false
			}
		}
	}
	return true
}

func edit(meta *Meta, set []assignment) {
	for _, one := range set {
		switch one.column {
		case "provisioning_status":
			meta.ProvisioningStatus = one.value
		case "operating_status":
			meta.OperatingStatus = one.value
		case "name":
			meta.Name = one.value
		case "enabled":
			meta.AdminStateUp = one.value == "1" || strings.EqualFold(one.value, "true")
		}
	}
}

// erase takes the row of an object away.
func (o *Octavia) erase(lb *LoadBalancer, thing object) {
	switch t := thing.(type) {
	case *LoadBalancer:
		o.remove(t)
	case *Listener:
		o.dropListener(lb, t)
	case *Pool:
		o.dropPool(lb, t)
	case *Member:
		for _, pool := range lb.Pools {
			pool.drop(t)
		}
	case *Monitor:
		if _, pool, failure := o.pool(t.PoolID); failure == nil {
			o.dropMonitor(pool)
		}
		lb.dropCheck(t)
	case *L7Policy:
		if _, listener, failure := o.listener(t.ListenerID); failure == nil {
			o.dropPolicy(listener, t)
		}
	case *L7Rule:
		if _, policy, failure := o.policy(t.PolicyID); failure == nil {
			o.dropRule(policy, t)
		}
	}
}
