"""How a report file looks, on a screen and on A4."""

STYLE = """
:root { color: #1c2126; background: #fff; font: 15px/1.5 'Source Sans 3', 'Source Sans Pro',
  'Helvetica Neue', Arial, sans-serif; }
body { max-width: 700px; margin: 32px auto 64px; padding: 0 16px; }
h1 { font-size: 28px; line-height: 1.2; margin: 0 0 8px; }
h2 { font-size: 20px; margin: 40px 0 8px; padding-top: 8px; border-top: 1px solid #dfe3e6; }
h3 { font-size: 16px; margin: 24px 0 4px; }
a { color: #1f5f8b; }
.question { font-size: 18px; color: #59636d; margin: 0 0 16px; }
.lead { font-size: 17px; }
.muted, caption, figcaption { color: #59636d; font-size: 13px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13px; margin: 8px 0 16px; }
caption { text-align: left; padding-bottom: 4px; }
th, td { text-align: left; vertical-align: top; padding: 4px 8px 4px 0;
  border-bottom: 1px solid #dfe3e6; overflow-wrap: anywhere; }
th { font-weight: 600; overflow-wrap: normal; }
td { font-variant-numeric: tabular-nums; }
figure { margin: 8px 0 16px; }
.chart { width: 660px; min-height: 80px; }
sup a { text-decoration: none; padding: 0 2px; }
details { border: 1px solid #dfe3e6; border-radius: 4px; margin: 8px 0; padding: 0 12px; }
summary { cursor: pointer; padding: 8px 0; }
.message { margin: 0 0 8px; white-space: pre-wrap; overflow-wrap: anywhere; }
.message b { display: block; font-size: 12px; color: #59636d; }
.message.assistant { border-left: 3px solid #1f5f8b; padding-left: 10px; }
.message.user { border-left: 3px solid #b4bcc4; padding-left: 10px; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f5f6f7; padding: 12px;
  font-size: 12px; border-radius: 4px; }
code { font-size: 12px; overflow-wrap: anywhere; }
.ids { font-size: 12px; overflow-wrap: anywhere; }
@page { size: A4; margin: 15mm; }
@media print {
  body { margin: 0; padding: 0; max-width: none; font-size: 10.5pt; }
  a { color: inherit; text-decoration: none; }
  h2, h3 { break-after: avoid; }
  figure, tr, .message { break-inside: avoid; }
  .chart { width: 660px; }
  table { font-size: 8pt; }
}
"""
