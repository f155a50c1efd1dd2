"""The page: what people see of the service in a browser. Views are what a page needs as plain data; templates, in
`../templates/`, are how that looks."""
