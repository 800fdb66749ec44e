// The reference page: Swagger UI with the errors of an operation in one table instead of a block for each status.
"use strict";

/** Plugin of Swagger UI. Failures become rows of a collapsed table: status, code, message. */
function errorTable({ React }) {
  const element = React.createElement;
  const isError = (_response, status) => status === "default" || Number(status) >= 400;

  function rows(response, status) {
    const examples = response.getIn(["content", "application/json", "examples"]);
    const codes = [...response.get("x-error-codes", [])];
    const message = (code) => examples?.getIn([code, "value", "message"]) ?? response.get("description");
    return (codes.length ? codes : [""]).map((code) =>
      element(
        "tr",
        { key: `${status} ${code}` },
        ...[status, element("code", null, code), message(code)].map((value, index) =>
          element("td", { key: index }, value),
        ),
      ),
    );
  }

  const Table = ({ responses }) =>
    element(
      "details",
      { className: "errors" },
      element("summary", null, `Errors: ${[...responses.keys()].join(", ")}`),
      element(
        "table",
        null,
        element(
          "thead",
          null,
          element("tr", null, ...["Status", "Code", "Message"].map((name) => element("th", { key: name }, name))),
        ),
        element("tbody", null, [...responses.entries()].flatMap(([status, response]) => rows(response, status))),
      ),
    );

  const responses = (Original) =>
    function Responses(props) {
      const errors = props.responses.filter(isError);
      return element(
        React.Fragment,
        null,
        element(Original, { ...props, responses: props.responses.filterNot(isError) }),
        errors.size > 0 && element(Table, { responses: errors }),
      );
    };
  return { wrapComponents: { responses } };
}

const isDark = window.matchMedia("(prefers-color-scheme: dark)");
const applyScheme = () => document.documentElement.classList.toggle("dark-mode", isDark.matches);
isDark.addEventListener("change", applyScheme);
applyScheme();

SwaggerUIBundle({
  url: "../openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  docExpansion: "none",
  filter: true,
  defaultModelRendering: "example",
  defaultModelExpandDepth: 4,
  defaultModelsExpandDepth: -1,
  validatorUrl: null,
  plugins: [errorTable],
});
