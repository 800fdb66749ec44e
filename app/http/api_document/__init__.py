"""Parts of the OpenAPI document: schemas, parameters, responses, error codes, texts and examples."""
