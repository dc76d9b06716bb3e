"""User studies on the page (`paretofoil serve --study FILE`). A file states what people are shown and asked."""
