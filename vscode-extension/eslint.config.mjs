import tseslint from "typescript-eslint";

// Three words in a row are a part of a sentence: it goes through l10n.t, unless it is for the log (as all of within.ts) or for the page's style.
const SENTENCE = "/[A-Za-z]{2,} [a-z]{2,} [a-z]{2,}/";
const QUIET = [
  "CallExpression[callee.property.name=/^(t|startsWith)$/] *",
  "CallExpression[callee.object.property.name='log'] *",
  "CallExpression[callee.object.name='log'] *",
  "JSXAttribute[name.name='class'] *",
];
const untranslated = ["Literal[value=X]", "TemplateElement[value.raw=X]", "JSXText[value=X]"].map((kind) => ({
  selector: `${kind.replace("X", SENTENCE)}:not(${QUIET.join(", ")})`,
  message: "What a person reads goes through l10n.t.",
}));

export default tseslint.config(
  { ignores: ["dist", "dist-test", "bundled", "node_modules"] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: { allowDefaultProject: ["*.mjs", "scripts/*.mjs"] }, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      // An object that looks like one of a class and wasn't made by it, a number for an enum: most of this check's time, and they find nothing here.
      "@typescript-eslint/no-unsafe-class-instance-assignment": "off",
      "@typescript-eslint/no-unsafe-enum-assignment": "off",
    },
  },
  { files: ["src/**", "webview/report/**"], ignores: ["src/within.ts"], rules: { "no-restricted-syntax": ["error", ...untranslated] } },
  // node:test's `test` gives a promise that its runner awaits itself
  { files: ["test/**", "webview/test/**"], rules: { "@typescript-eslint/no-floating-promises": "off", "@typescript-eslint/no-non-null-assertion": "off" } },
  { files: ["**/*.mjs"], ...tseslint.configs.disableTypeChecked },
);
