// Grafana's panels as small functions: what every panel must have cannot be forgotten.
{
  local datasource = { type: 'prometheus', uid: '${datasource}' },

  target(expr, legend='', format='time_series', instant=false):: {
    datasource: datasource,
    expr: expr,
    format: format,
    instant: instant,
    range: !instant,
    legendFormat: legend,
  },

  local panel(type, title, description, unit, targets, defaults, options) = {
    type: type,
    title: title,
    description: description,
    datasource: datasource,
    targets: [targets[i] { refId: std.char(65 + i) } for i in std.range(0, std.length(targets) - 1)],
    fieldConfig: { defaults: { unit: unit } + defaults, overrides: [] },
    options: options,
  },

  // From green on: [value, colour] pairs in rising order.
  local thresholds(steps) = {
    color: { mode: 'thresholds' },
    thresholds: {
      mode: 'absolute',
      steps: [{ color: 'green', value: null }] + [{ color: step[1], value: step[0] } for step in steps],
    },
  },

  // `words` are for values that mean something: {'0': ['no', 'green']}.
  stat(title, description, unit, targets, steps=[], words={}, textMode='auto')::
    local mappings = [{
      type: 'value',
      options: { [value]: { text: words[value][0], color: words[value][1] } for value in std.objectFields(words) },
    }];
    local shown = (if words == {} then {} else { mappings: mappings }) + { noValue: 'none' };
    panel('stat', title, description, unit, targets, thresholds(steps) + shown, {
      colorMode: 'value',
      graphMode: 'none',
      justifyMode: 'auto',
      orientation: 'auto',
      reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
      textMode: textMode,
    }),

  graph(title, description, unit, targets, stacked=false, bars=false)::
    local style = {
      drawStyle: if bars then 'bars' else 'line',
      fillOpacity: if stacked || bars then 40 else 0,
      lineWidth: 1,
      showPoints: 'auto',
      // A CronJob's series may pause; a line across says that the state still stands.
      spanNulls: true,
      stacking: { mode: if stacked then 'normal' else 'none', group: 'A' },
    };
    panel('timeseries', title, description, unit, targets, { custom: style, min: 0 }, {
      legend: { displayMode: 'list', placement: 'bottom', showLegend: true, calcs: [] },
      tooltip: { mode: 'multi', sort: 'desc' },
    }),

  // Columns: {header, unit, expr}; each expression answers with one value a `key`.
  table(title, description, key, header, columns)::
    local letters = [std.char(65 + i) for i in std.range(0, std.length(columns) - 1)];
    local targets = [$.target(column.expr, '', 'table', true) for column in columns];
    panel('table', title, description, 'short', targets, { custom: { align: 'auto', filterable: true } }, {
      showHeader: true,
    }) + {
      transformations: [
        { id: 'merge', options: {} },
        {
          id: 'organize',
          options: {
            excludeByName: { Time: true },
            indexByName: { [key]: 0 } + { ['Value #' + letters[i]]: i + 1 for i in std.range(0, std.length(columns) - 1) },
            renameByName: { [key]: header } + { ['Value #' + letters[i]]: columns[i].header for i in std.range(0, std.length(columns) - 1) },
          },
        },
      ],
      fieldConfig+: {
        overrides: [
          {
            matcher: { id: 'byName', options: column.header },
            properties: [{ id: 'unit', value: column.unit }],
          }
          for column in columns
        ],
      },
    },

  row(title):: { type: 'row', title: title, collapsed: false, panels: [] },

  // Places rows below each other: [{title, height, panels: [[width, panel], ...]}, ...].
  layout(rows)::
    local place(done, row) =
      local y = done.y;
      local widths = [each[0] for each in row.panels];
      local left(i) = std.foldl(function(sum, width) sum + width, widths[0:i], 0);
      {
        y: y + 1 + row.height,
        panels: done.panels
                + [$.row(row.title) { gridPos: { x: 0, y: y, w: 24, h: 1 } }]
                + [
                  row.panels[i][1] { gridPos: { x: left(i), y: y + 1, w: widths[i], h: row.height } }
                  for i in std.range(0, std.length(row.panels) - 1)
                ],
      };
    local placed = std.foldl(place, rows, { y: 0, panels: [] }).panels;
    [placed[i] { id: i + 1 } for i in std.range(0, std.length(placed) - 1)],

  datasourceVariable:: {
    name: 'datasource',
    label: 'Data source',
    type: 'datasource',
    query: 'prometheus',
    refresh: 1,
    hide: 0,
    includeAll: false,
    multi: false,
    regex: '',
    options: [],
    current: {},
  },

  // "All" is every value, the empty one too: what is pushed has no instance.
  variable(name, label, query):: {
    name: name,
    label: label,
    type: 'query',
    datasource: datasource,
    query: { query: query, refId: 'variable-' + name },
    definition: query,
    refresh: 2,
    sort: 1,
    hide: 0,
    includeAll: true,
    allValue: '.*',
    multi: true,
    regex: '',
    options: [],
    current: { selected: true, text: ['All'], value: ['$__all'] },
  },
}
