import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.introspect.Annotated;
import com.fasterxml.jackson.databind.introspect.JacksonAnnotationIntrospector;
import io.strimzi.api.kafka.model.topic.KafkaTopic;
import io.strimzi.api.kafka.model.user.KafkaUser;

/** Reads a JSON list of resources from standard input as Strimzi's own classes; ends with an error at a field they lack. */
class ReadResources {
    public static void main(String[] arguments) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        // Strimzi keeps unknown fields to warn about them: without that, Jackson refuses them.
        mapper.setAnnotationIntrospector(new JacksonAnnotationIntrospector() {
            @Override
            public Boolean hasAnySetter(Annotated annotated) {
                return false;
            }
        });
        for (JsonNode resource : mapper.readTree(System.in)) {
            String kind = resource.get("kind").asText();
            Class<?> read = kind.equals("KafkaTopic") ? KafkaTopic.class : KafkaUser.class;
            mapper.treeToValue(resource, read);
            System.out.println(kind + "/" + resource.get("metadata").get("name").asText());
        }
    }
}
