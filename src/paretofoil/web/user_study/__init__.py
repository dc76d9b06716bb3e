"""User studies on the page (`paretofoil serve --study FILE`): a file says what people are shown and asked."""
