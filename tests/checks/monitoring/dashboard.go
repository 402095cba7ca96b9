package monitoring

import (
	"encoding/json"
	"strings"
)

// The grid of a Grafana dashboard is 24 wide.
const (
	panelWidth, panelHeight = 8, 8
	panelsInRow             = 3
)

// Dashboard returns a dashboard for Grafana with a panel for each metric of the table.
func Dashboard() ([]byte, error) {
	var panels []map[string]any
	y := 0
	add := func(panel map[string]any, width, height, x int) {
		panel["id"] = len(panels) + 1
		panel["gridPos"] = map[string]int{"h": height, "w": width, "x": x, "y": y}
		panels = append(panels, panel)
	}
	for _, group := range Groups() {
		add(map[string]any{"type": "row", "title": group.Title, "collapsed": false, "panels": []any{}}, panelWidth*panelsInRow, 1, 0)
		y++
		for i, use := range group.Uses {
			add(panel(use), panelWidth, panelHeight, i%panelsInRow*panelWidth)
			if i%panelsInRow == panelsInRow-1 || i == len(group.Uses)-1 {
				y += panelHeight
			}
		}
	}
	text, err := json.MarshalIndent(map[string]any{
		"uid": "openstack-ccm", "title": "OpenStack cloud controller manager", "tags": []string{"openstack", "kubernetes"},
		"schemaVersion": 39, "version": 1, "editable": true, "graphTooltip": 1, "refresh": "1m",
		"time": map[string]string{"from": "now-6h", "to": "now"},
		"templating": map[string]any{"list": []any{map[string]any{
			"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "refresh": 1, "current": map[string]any{},
		}}},
		"panels": panels,
	}, "", "  ")
	return append(text, '\n'), err
}

func panel(use Use) map[string]any {
	source := map[string]string{"type": "prometheus", "uid": "${datasource}"}
	return map[string]any{
		"type": "timeseries", "title": use.Title, "description": use.Note, "datasource": source,
		"targets": []any{map[string]any{"refId": "A", "expr": use.Query, "legendFormat": legend(use), "datasource": source}},
		"fieldConfig": map[string]any{
			"defaults":  map[string]any{"unit": use.Unit, "min": 0, "custom": map[string]any{"fillOpacity": 10, "showPoints": "never"}},
			"overrides": []any{},
		},
		"options": map[string]any{"legend": map[string]any{"displayMode": "list", "placement": "bottom"}, "tooltip": map[string]any{"mode": "multi", "sort": "desc"}},
	}
}

// legend returns the labels that the query leaves.
func legend(use Use) string {
	var left []string
	if by := grouping.FindStringSubmatch(use.Query); by != nil {
		for _, label := range word.FindAllString(by[1], -1) {
			if label != "le" {
				left = append(left, "{{"+label+"}}")
			}
		}
	}
	return strings.Join(left, " ")
}
