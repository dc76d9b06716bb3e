"""User studies on the page (`paretofoil serve --study FILE`): one file describes what people are shown and asked."""
